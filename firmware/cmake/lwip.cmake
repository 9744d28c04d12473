# lwIP as the library `lwip`, from the copy of its sources in LWIP_DIR (scripts/firmware.sh makes it), unpatched.
# Files are named here, because lwIP's own list writes into the source tree.
set(LWIP_DIR "" CACHE PATH "the folder `src` of lwIP 2.2.1")
if(NOT EXISTS "${LWIP_DIR}/core/udp.c")
  message(FATAL_ERROR "LWIP_DIR '${LWIP_DIR}' has no core/udp.c; scripts/firmware.sh fetches lwIP and sets it")
endif()

set(core def inet_chksum init ip mem memp netif pbuf raw stats sys tcp tcp_in tcp_out timeouts udp)
set(ipv4 acd etharp icmp ip4 ip4_addr ip4_frag)
list(TRANSFORM core REPLACE "(.+)" "${LWIP_DIR}/core/\\1.c")
list(TRANSFORM ipv4 REPLACE "(.+)" "${LWIP_DIR}/core/ipv4/\\1.c")
add_library(lwip STATIC ${core} ${ipv4} ${LWIP_DIR}/netif/ethernet.c ${CMAKE_CURRENT_LIST_DIR}/../glue/lwip/port/sys_now.c
    ${CMAKE_CURRENT_LIST_DIR}/../glue/lwip/port/checksum.c)
target_include_directories(lwip SYSTEM PUBLIC ${LWIP_DIR}/include)
target_include_directories(lwip PUBLIC ${CMAKE_CURRENT_LIST_DIR}/../glue/lwip/port ${WL_BOARD_DIR})
target_link_libraries(lwip PUBLIC wl_headers)
target_include_directories(lwip PUBLIC ${CMAKE_CURRENT_LIST_DIR}/../glue/lwip)
target_compile_definitions(lwip PUBLIC "WL_LWIP_OPTIONS_HEADER=\"wl_lwip_options.h\"")

# The cost of lwIP's functions, from the calls around them; see glue/lwip/probes_perf.h.
option(WL_LWIP_PERF "sum up what lwIP's functions cost" OFF)
if(WL_LWIP_PERF)
  target_sources(lwip PRIVATE ${CMAKE_CURRENT_LIST_DIR}/../glue/lwip/probes_perf.c)
  target_include_directories(lwip PRIVATE ${CMAKE_CURRENT_LIST_DIR}/../glue/lwip)
  target_compile_definitions(lwip PRIVATE LWIP_PERF=1 "WL_LWIP_PERF_HEADER=\"probes_perf.h\"")
endif()
