# What firmware/CMakeLists.txt is in an ESP-IDF build: the component. A receiver tracks a window of 1024 sequences.
file(GLOB sources ${CMAKE_CURRENT_LIST_DIR}/../lib/src/*.c)
idf_component_register(SRCS ${sources} ${CMAKE_CURRENT_LIST_DIR}/../sdk/esp-idf/clock.c
                       INCLUDE_DIRS ${CMAKE_CURRENT_LIST_DIR}/../lib/include
                       REQUIRES esp_timer)
target_compile_definitions(${COMPONENT_LIB} PUBLIC WL_TRACK_WINDOW=1024)
