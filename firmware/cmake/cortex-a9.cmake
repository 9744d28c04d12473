# Toolchain file: Cortex-A9, no floating point.
set(WL_PROCESSOR_FLAGS "-mcpu=cortex-a9 -mfloat-abi=soft")
include(${CMAKE_CURRENT_LIST_DIR}/arm-none-eabi.cmake)
