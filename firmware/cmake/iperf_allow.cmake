# The option WL_IPERF_ALLOW: hosts to which a node's iperf sends datagrams back without further proof.
set(WL_IPERF_ALLOW "" CACHE STRING "hosts that iperf always sends back to over UDP, as 192.0.2.0/24; nobody if empty")
if(WL_IPERF_ALLOW AND NOT WL_IPERF_ALLOW MATCHES "^[0-9]+[.][0-9]+[.][0-9]+[.][0-9]+(/[0-9]+)?$"
   AND NOT WL_IPERF_ALLOW MATCHES "^[0-9a-fA-F:]*:[0-9a-fA-F:.]*(/[0-9]+)?$")
  message(FATAL_ERROR "WL_IPERF_ALLOW '${WL_IPERF_ALLOW}' is not an address prefix; fix: write e.g. 192.0.2.0/24, "
                      "2001:db8::/32, or one address")
endif()
set(WL_IPERF_ALLOW_DEFINITION)
if(WL_IPERF_ALLOW)
  set(WL_IPERF_ALLOW_DEFINITION "WL_IPERF_ALLOW=\"${WL_IPERF_ALLOW}\"")
endif()
