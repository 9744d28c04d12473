# Common to all ARM boards; a processor's file sets WL_PROCESSOR_FLAGS and includes this one.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
# An image needs a board's linker script, so the compiler is tried with a library.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_ASM_COMPILER arm-none-eabi-gcc)
set(CMAKE_C_FLAGS_INIT "${WL_PROCESSOR_FLAGS} -mthumb -ffreestanding -ffunction-sections -fdata-sections -fno-common")
set(CMAKE_ASM_FLAGS_INIT "${WL_PROCESSOR_FLAGS}")
set(CMAKE_EXE_LINKER_FLAGS_INIT "${WL_PROCESSOR_FLAGS} -mthumb -nostartfiles -Wl,--gc-sections -Wl,--fatal-warnings")
