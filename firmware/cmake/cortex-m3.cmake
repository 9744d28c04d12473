# Toolchain file: Cortex-M3.
set(WL_PROCESSOR_FLAGS "-mcpu=cortex-m3 -mfloat-abi=soft")
include(${CMAKE_CURRENT_LIST_DIR}/arm-none-eabi.cmake)
