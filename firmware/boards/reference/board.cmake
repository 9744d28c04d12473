# The reference node: VexRiscv with slot MAC and ring MAC, capture unit and packet identifier (rtl/reference).
set(WL_BOARD_TOOLCHAIN rv32im)
set(WL_BOARD_OPTIONS wirelab_options.h)
include_directories(SYSTEM ${WL_BOARD_DIR}/include)
# There is no <inttypes.h> without a C library.
add_compile_definitions(LWIP_NO_INTTYPES_H=1 LWIP_NO_CTYPE_H=1)
# A copy loop stays a loop and does not become a call of itself.
set_source_files_properties(${WL_BOARD_DIR}/memory.c PROPERTIES COMPILE_OPTIONS -fno-tree-loop-distribute-patterns)

# reference_image(NAME lwip|bare DRIVERS…): an image with drivers of the blocks, and the headers that
# rtl/tools/registers.py makes.
function(reference_image name kind)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/drivers/)
  wl_image(${name} link.ld ${kind} ${ARGN})
  target_include_directories(${name}.elf PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/drivers)
  target_include_directories(${name}.elf SYSTEM PRIVATE ${WL_REGISTERS_DIR})
endfunction()

set(core start.S fault.c memory.c timer.c uart.c)
set(WL_BOARD_SOURCES ${core} board.c receive.c mac.c slot_mac.c ring_mac.c unit.c identifier.c sticky.c)
reference_image(reference lwip wl_capture_unit.c wl_packet_identifier.c)
# Generator and checker of port 1, without a stack.
set(WL_BOARD_SOURCES ${core} port.c)
reference_image(reference-port bare wl_port.c wl_generator.c wl_checker.c)
