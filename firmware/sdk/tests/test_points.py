"""The capture points around drivers of NuttX and of FreeRTOS+TCP, compiled with stand-ins for the systems' declarations: which
frames leave a record at which point, and that the drivers are unchanged after a trial."""

import subprocess
import tempfile
import unittest
from pathlib import Path

FIRMWARE = Path(__file__).resolve().parents[2]
# A test frame in UDP, and one of another program.
FRAMES = """
#include <stdio.h>
#include "wirelab/points.h"
static uint64_t now;
uint64_t wl_clock(void) { return now; }
static uint8_t test[60] = { [12] = 8, [14] = 0x45, [23] = 17, [42] = 'W', 'L', 0x10, 0, 0, 0, 0, 7 };
static uint8_t foreign[60] = { [12] = 8, [13] = 6 };
static void show(void)
{
	struct wl_record record;
	for (unsigned n = 0; wl_capture_at(n, &record); n++)
		printf("%s%u:%u@%u", n ? " " : "", record.point, (unsigned)record.sequence, (unsigned)record.ticks);
	printf("\\n");
}
"""
NUTTX = {
    "nuttx/config.h": "",
    "nuttx/net/net.h": "struct net_driver_s { void *d_private; };\n#define NET_LL_HDRLEN(device) 14\n"
    "struct net_driver_s *netdev_findbyname(const char *name);\n",
    "nuttx/nuttx.h": "#include <stddef.h>\n#define container_of(at, type, field) ((type *)((char *)(at) - offsetof(type, field)))\n",
    "nuttx/net/netdev_lowerhalf.h": "#include <stdint.h>\n#define OK 0\n"
    "typedef struct { uint16_t io_len; uint8_t *data; } netpkt_t;\nstruct netdev_lowerhalf_s;\n"
    "struct netdev_ops_s { int (*transmit)(struct netdev_lowerhalf_s *, netpkt_t *); netpkt_t *(*receive)(struct netdev_lowerhalf_s *); };\n"
    "struct netdev_lowerhalf_s { const struct netdev_ops_s *ops; struct net_driver_s netdev; };\n"
    "uint8_t *netpkt_getdata(struct netdev_lowerhalf_s *device, netpkt_t *frame);\n",
}
# Two polls: the first brings a foreign frame and a test frame, the second nothing; then a frame is sent, and one is refused.
NUTTX_MAIN = """
#include <nuttx/net/net.h>
#include <nuttx/net/netdev_lowerhalf.h>
#include "glue.h"
static netpkt_t frames[2] = { { sizeof foreign - 14, foreign }, { sizeof test - 14, test } };
static unsigned given;
static int status;
static netpkt_t *receive(struct netdev_lowerhalf_s *d) { (void)d; now += 5; return given < 2 ? &frames[given++] : NULL; }
static int transmit(struct netdev_lowerhalf_s *d, netpkt_t *f) { (void)d; (void)f; now += 20; return status; }
static const struct netdev_ops_s driver = { transmit, receive };
static struct netdev_lowerhalf_s device = { .ops = &driver };
static struct netdev_lowerhalf_s *upper = &device;
uint8_t *netpkt_getdata(struct netdev_lowerhalf_s *d, netpkt_t *f) { (void)d; return f->data; }
struct net_driver_s *netdev_findbyname(const char *name) { return name[0] == 'e' ? &device.netdev : NULL; }
int main(void)
{
	struct wl_flows flows = { .interface_name = "eth0" };
	device.netdev.d_private = &upper;
	wl_capture_start(8);
	wl_nuttx_points(&flows, true);
	now = 100;
	while (device.ops->receive(&device) != NULL)
		;
	now = 500;
	device.ops->receive(&device);
	now = 600;
	given = 1;
	while (device.ops->receive(&device) != NULL)
		;
	now = 700;
	device.ops->transmit(&device, &frames[1]);
	status = -1;
	device.ops->transmit(&device, &frames[1]);
	device.ops->transmit(&device, &frames[0]);
	wl_nuttx_points(&flows, false);
	show();
	printf("%s\\n", device.ops == &driver ? "gone" : "there");
	/* A driver of another kind, and an interface that is not there. */
	device.netdev.d_private = &flows;
	wl_nuttx_points(&flows, true);
	flows.interface_name[0] = 'x';
	wl_nuttx_points(&flows, true);
	printf("%s\\n", device.ops == &driver ? "gone" : "there");
	return 0;
}
"""
FREERTOS = {
    "FreeRTOS.h": "#include <stddef.h>\n#include <stdint.h>\ntypedef long BaseType_t;\n#define pdPASS 1\n#define pdFAIL 0\n",
    "FreeRTOS_IP.h": "typedef struct { uint8_t *pucEthernetBuffer; size_t xDataLength; } NetworkBufferDescriptor_t;\n"
    "typedef struct NetworkInterface { BaseType_t (*pfOutput)(struct NetworkInterface *, NetworkBufferDescriptor_t *const, BaseType_t);"
    " } NetworkInterface_t;\ntypedef struct NetworkEndPoint NetworkEndPoint_t;\n",
    "FreeRTOS_Sockets.h": "typedef void *Socket_t;\nstruct freertos_sockaddr;\n",
}
# An interrupt, the frames it brought by FreeRTOS+TCP's macro, a frame that is sent and released, and one that the driver refuses.
FREERTOS_MAIN = """
#include <string.h>
#include "node.h"
#include "wl_ftcp_config.h"
static BaseType_t status = pdPASS;
static BaseType_t driver(NetworkInterface_t *i, NetworkBufferDescriptor_t *const b, BaseType_t release)
{
	(void)i;
	now += 20;
	if (release && status == pdPASS)
		b->pucEthernetBuffer = NULL;
	return status;
}
int main(void)
{
	static struct wl_ftcp_node node;
	NetworkInterface_t interface = { driver };
	NetworkBufferDescriptor_t buffer = { test, sizeof test };
	node.interface = &interface;
	wl_capture_start(8);
	BOARD_ON_MAC_INTERRUPT();
	wl_ftcp_points(&node, true);
	now = 100;
	BOARD_ON_MAC_INTERRUPT();
	now = 130;
	iptraceNETWORK_INTERFACE_INPUT(sizeof test, test);
	now = 150;
	iptraceNETWORK_INTERFACE_INPUT(sizeof foreign, foreign);
	now = 700;
	interface.pfOutput(&interface, &buffer, 1);
	buffer.pucEthernetBuffer = test;
	status = pdFAIL;
	interface.pfOutput(&interface, &buffer, 1);
	wl_ftcp_points(&node, false);
	iptraceNETWORK_INTERFACE_INPUT(sizeof test, test);
	show();
	printf("%s\\n", interface.pfOutput == driver ? "gone" : "there");
	return 0;
}
"""


class Points(unittest.TestCase):
    """Each program, compiled for this machine and run."""

    def printed(self, headers, main, folders, sources, *flags):
        """The lines that the program prints."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="wlpoints")))
        for name, text in headers.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        (folder / "main.c").write_text(FRAMES + main)
        command = ["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", *flags, f"-I{folder}"]
        command += [f"-I{FIRMWARE / name}" for name in ("lib/include", "app", *folders)]
        command += [str(FIRMWARE / name) for name in ("lib/src/capture.c", *sources)]
        subprocess.run([*command, folder / "main.c", "-o", folder / "points"], check=True)
        return subprocess.run([folder / "points"], check=True, capture_output=True, text=True).stdout.splitlines()

    def test_nuttx_has_the_start_of_the_poll_and_both_sides_of_its_driver(self):
        printed = self.printed(NUTTX, NUTTX_MAIN, ["glue/sockets"], ["sdk/nuttx/points.c"], "-DWL_SOCKETS_POINTS=wl_nuttx_points")
        # Point, sequence and time: 0 and 1 of a received frame, 4 and 5 of a sent one. A refused one was only given to the
        # driver.
        self.assertEqual(printed, ["0:7@100 1:7@110 0:7@600 1:7@605 4:7@700 5:7@720 4:7@720", "gone", "gone"])

    def test_freertos_plus_tcp_has_the_interrupt_its_own_task_and_both_sides_of_its_driver(self):
        printed = self.printed(FREERTOS, FREERTOS_MAIN, ["glue/freertos-tcp"], ["app/probes.c", "glue/freertos-tcp/points.c"])
        self.assertEqual(printed, ["0:7@100 1:7@130 4:7@700 5:7@720 4:7@720", "gone"])


if __name__ == "__main__":
    unittest.main()
