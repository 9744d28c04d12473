# Toolchain file: RV32IM, as VexRiscv without compressed instructions. The distribution's compiler comes without a C library;
# the board has the functions that lwIP needs (boards/reference/memory.c).
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR riscv)
# An image needs a board's linker script, so the compiler is tried with a library.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_C_COMPILER riscv64-unknown-elf-gcc)
set(CMAKE_ASM_COMPILER riscv64-unknown-elf-gcc)
# In this version of the specification, I includes the instructions for control registers; libgcc is built for it.
set(processor "-march=rv32im -misa-spec=2.2 -mabi=ilp32 -mstrict-align")
set(CMAKE_C_FLAGS_INIT "${processor} -ffreestanding -ffunction-sections -fdata-sections -fno-common")
set(CMAKE_ASM_FLAGS_INIT "${processor}")
# All of RAM is one segment, because the hardware cannot protect parts of it.
set(CMAKE_EXE_LINKER_FLAGS_INIT "${processor} -nostartfiles -nostdlib -Wl,--gc-sections -Wl,--fatal-warnings -Wl,--no-warn-rwx-segments")
# Behind all libraries: divisions of 64 bits and byte swaps.
set(CMAKE_C_STANDARD_LIBRARIES_INIT "-lgcc")
