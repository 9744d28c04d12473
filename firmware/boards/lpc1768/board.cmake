# LPC1768 (Keil MCB1700): Cortex-M3, EMAC; the same node run from RAM, as in NXP AN11053, and from flash.
set(WL_BOARD_TOOLCHAIN cortex-m3)
set(WL_BOARD_SOURCES vectors.S start.c board.c emac.c gpdma.c copy.c data.c rings.c trial.c control.c main.c)
target_compile_definitions(wl_headers INTERFACE WL_OPTIONS_HEADER="wirelab_options.h")
# Addresses and words are copied without calls.
target_compile_options(wl_headers INTERFACE $<$<COMPILE_LANGUAGE:C>:-fbuiltin>)
foreach(module frame capture load scenario control)
  target_link_libraries(wl_${module} PRIVATE wl_headers)
endforeach()
# Small rather than fast: no control line is measured, and the RAM image has 32 KB.
target_compile_options(wl_control PRIVATE -Os)
target_compile_options(wl_capture PRIVATE -Os)
set_source_files_properties(${WL_BOARD_DIR}/control.c ${WL_BOARD_DIR}/main.c ${WL_BOARD_DIR}/start.c PROPERTIES COMPILE_OPTIONS -Os)

# image(NAME SCRIPT [DEFINITIONS…])
function(lpc1768_image name script)
  wl_image(${name} ${script} bare)
  target_link_libraries(${name}.elf PRIVATE wl_scenario wl_capture wl_load wl_control wl_frame)
  target_link_options(${name}.elf PRIVATE -L ${WL_BOARD_DIR} --specs=nano.specs)
  # A copy loop stays a loop and does not become a call of memcpy.
  target_compile_options(${name}.elf PRIVATE -fno-tree-loop-distribute-patterns)
  target_compile_definitions(${name}.elf PRIVATE ${ARGN})
endfunction()

lpc1768_image(lpc1768-ram ram.ld)
lpc1768_image(lpc1768-flash flash.ld BOARD_IN_FLASH)
# The scenario `copied` with other copy loops: its figure is the loop's, not the chip's.
lpc1768_image(lpc1768-ram-words ram.ld BOARD_COPY=board_copy_words "BOARD_COPY_NAME=\"words\"")
lpc1768_image(lpc1768-ram-pointer ram.ld BOARD_COPY=board_copy_pointer
              "BOARD_COPY_NAME=\"halfwords, their pointer in memory\"")
