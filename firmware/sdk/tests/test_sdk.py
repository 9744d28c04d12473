"""The library in other people's SDKs: the CMake package is installed, built against and run; the Arduino library is laid out,
compiled and its sketch run; Zephyr's and ESP-IDF's files run with stand-ins for the systems; and each manifest names existing
files and the firmware's version."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

FIRMWARE = Path(__file__).resolve().parents[2]
SDK = FIRMWARE / "sdk"
TCP_FEATURE = "freertos-tcp"
RIGHT = "wirelab: the counts are right"

# The parts of Zephyr's build system that the module uses.
STAND_IN = """
cmake_minimum_required(VERSION 3.16)
project(stand_in C)
set(CMAKE_C_STANDARD 11)
function(zephyr_library_named name)
  add_library(${{name}} STATIC)
  set_property(GLOBAL PROPERTY library ${{name}})
endfunction()
function(zephyr_library_sources)
  get_property(library GLOBAL PROPERTY library)
  target_sources(${{library}} PRIVATE ${{ARGN}})
endfunction()
macro(zephyr_include_directories)
  include_directories(${{ARGN}})
  get_property(library GLOBAL PROPERTY library)
  target_include_directories(${{library}} PUBLIC ${{ARGN}})
endmacro()
macro(zephyr_compile_definitions)
  get_property(library GLOBAL PROPERTY library)
  target_compile_definitions(${{library}} PUBLIC ${{ARGN}})
endmacro()
include_directories({folder})
add_compile_options(-Wall -Wextra -Werror)
{settings}
add_subdirectory({module} module)
add_executable(example main.c {sdk}/example.c)
target_include_directories(example PRIVATE {sdk})
target_link_libraries(example PRIVATE {library})
"""
# Those of ESP-IDF's: a component has its folder's name and sees the headers of the components that it requires.
IDF = """
cmake_minimum_required(VERSION 3.16)
project(stand_in C)
set(CMAKE_C_STANDARD 11)
add_compile_options(-Wall -Wextra -Werror)
add_library(idf_esp_timer INTERFACE)
target_include_directories(idf_esp_timer INTERFACE {folder})
function(idf_component_register)
  cmake_parse_arguments(IT "" "" "SRCS;INCLUDE_DIRS;REQUIRES;PRIV_REQUIRES" ${{ARGN}})
  get_filename_component(name ${{CMAKE_CURRENT_LIST_DIR}} NAME)
  add_library(idf_${{name}} STATIC ${{IT_SRCS}})
  target_include_directories(idf_${{name}} PUBLIC ${{IT_INCLUDE_DIRS}})
  foreach(other ${{IT_REQUIRES}} ${{IT_PRIV_REQUIRES}})
    if(NOT TARGET idf_${{other}})
      message(FATAL_ERROR "Failed to resolve component '${{other}}' required by component '${{name}}'")
    endif()
    target_link_libraries(idf_${{name}} PUBLIC idf_${{other}})
  endforeach()
  set(COMPONENT_LIB idf_${{name}} PARENT_SCOPE)
endfunction()
add_subdirectory({component} component)
add_subdirectory({example}/main main)
add_executable(example main.c)
target_link_libraries(example PRIVATE idf_main)
"""
HEADERS = {
    "zephyr/kernel.h": "#include <stdint.h>\nstatic inline unsigned irq_lock(void) { return 0; }\n"
    "static inline void irq_unlock(unsigned key) { (void)key; }\nuint32_t k_cycle_get_32(void);\n",
    "esp_timer.h": "#include <stdint.h>\nint64_t esp_timer_get_time(void);\n",
}
# Two readings of a counter with a wrap in between, or the microseconds of a timer.
MAIN = """
#include <stdint.h>
#include "example.h"
#include "wirelab/options.h"
static uint32_t cycles = 0xFFFFFFF0u;
uint32_t k_cycle_get_32(void) { return cycles += 0x20; }
int64_t esp_timer_get_time(void) { return cycles += 0x20, (int64_t)cycles + 7; }
int main(void)
{
	uint64_t first = wl_clock(), second = wl_clock();
	return second - first == 0x20 ? wl_example() : 1;
}
"""
# Arduino's part of a sketch.
SERIAL = """
#include <cstdio>
#include <cstdint>
#include <cstddef>
struct Port {
	void begin(long) {}
	void print(const char *text) { printf("%s", text); }
	void print(unsigned long number) { printf("%lu", number); }
	void println(unsigned long number) { printf("%lu\\n", number); }
} Serial;
extern "C" uint64_t wl_clock(void) { return 0; }
#include "Frames.ino"
int main() { setup(); loop(); }
"""


def run(*command, **options):
    """The output of a program that has to succeed."""
    done = subprocess.run([str(word) for word in command], check=False, capture_output=True, text=True, **options)
    if done.returncode:
        raise AssertionError(f"{command} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class InAFolder(unittest.TestCase):
    """Tests with a folder of their own."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="wlsdk"))
        self.addCleanup(shutil.rmtree, self.folder)


class CMakePackage(InAFolder):
    """find_package(wirelab)."""

    def setUp(self):
        super().setUp()
        run("cmake", "-S", FIRMWARE / "lib", "-B", self.folder / "lib", f"-DCMAKE_INSTALL_PREFIX={self.folder}/there")
        run("cmake", "--install", self.folder / "lib")
        # The package also works from another place.
        (self.folder / "there").rename(self.folder / "prefix")

    def configure(self, source, *settings):
        """A project with the package in its path."""
        command = ["cmake", "-S", source, "-B", self.folder / "build", f"-DCMAKE_PREFIX_PATH={self.folder}/prefix", *settings]
        return subprocess.run([str(word) for word in command], check=False, capture_output=True, text=True)

    def project(self, find):
        """A project with this find_package()."""
        (self.folder / "CMakeLists.txt").write_text(f"cmake_minimum_required(VERSION 3.16)\nproject(mine C)\n{find}\n")
        return self.configure(self.folder)

    def test_the_example_is_built_against_an_installed_prefix_and_runs(self):
        done = self.configure(SDK / "cmake")
        self.assertEqual(done.returncode, 0, done.stderr)
        run("cmake", "--build", self.folder / "build")
        self.assertIn(RIGHT, run(self.folder / "build/example"))
        for file in (self.folder / "prefix").rglob("*.cmake"):
            self.assertNotIn(str(FIRMWARE), file.read_text(), file)

    def test_the_node_on_lwip_is_a_component(self):
        done = self.project("find_package(wirelab REQUIRED COMPONENTS lwip)\n"
                            "get_target_property(files wirelab::lwip_node INTERFACE_SOURCES)\n"
                            "foreach(file ${files})\n  if(NOT EXISTS ${file})\n    message(FATAL_ERROR \"no ${file}\")\n"
                            "  endif()\nendforeach()\nmessage(STATUS \"sources: ${files}\")")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"sources: \S*/prefix/share/\S*/glue/lwip/node.c;")

    def test_a_project_with_lwip_becomes_a_node_that_answers_on_its_uart(self):
        lwip = Path(os.environ.get("CARGO_TARGET_DIR", FIRMWARE.parent / "target")) / "firmware/lwip/src"
        if not (lwip / "core/udp.c").is_file():
            self.skipTest(f"firmware: there is no {lwip}; make firmware fetches it")
        without = self.configure(SDK / "cmake/lwip")
        self.assertRegex(without.stderr, r"has no\s+core/udp.c;\s+fix:\s+-DLWIP_DIR")
        done = self.configure(SDK / "cmake/lwip", f"-DLWIP_DIR={lwip}", "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror")
        self.assertEqual(done.returncode, 0, done.stderr)
        run("cmake", "--build", self.folder / "build", "-j", "2")
        said = run(self.folder / "build/lwip_example", input="?0.7 hello version=1 *AEAF\n", timeout=60)
        self.assertIn("READY name=my-board mac=02:00:c0:00:02:01 ip=192.0.2.1", said)
        self.assertRegex(said, r"(?m)^=0\.7 hello version=1 session=\d+")

    def test_what_the_package_lacks_is_named_with_the_fix(self):
        self.assertRegex(self.project("find_package(wirelab REQUIRED COMPONENTS uip)").stderr,
                         r"has no\s+component 'uip';\s+fix:\s+COMPONENTS\s+lwip")
        self.assertIn("0.9", self.project("find_package(wirelab 0.9 REQUIRED)").stderr)


class Arduino(InAFolder):
    """The library as Arduino wants it."""

    def test_the_library_compiles_from_its_own_folder_and_the_sketch_counts(self):
        library = Path(run(SDK / "arduino/pack.sh", self.folder).strip())
        source = library / "src"
        for file in source.glob("*.c"):
            run("cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", f"-I{source}", "-c", file, "-o", self.folder / f"{file.stem}.o")
        (self.folder / "main.cpp").write_text(SERIAL)
        sketch = library / "examples/Frames"
        objects = sorted(self.folder.glob("*.o"))
        run("c++", "-std=gnu++17", "-Wall", "-Wextra", "-Werror", "-x", "c++", f"-I{source}", f"-I{sketch}", self.folder / "main.cpp", "-x", "none",
            *objects, "-o", self.folder / "sketch")
        self.assertEqual(run(self.folder / "sketch"), "wirelab: good 98, lost 1, corrupted 1\n")

    def test_the_library_compiles_for_the_processors_of_its_architectures(self):
        if not shutil.which("arm-none-eabi-gcc"):
            self.skipTest("arm-none-eabi-gcc: there is no compiler for Arm")
        named = re.search(r"^architectures=(.*)$", (SDK / "arduino/library.properties").read_text(), re.M)[1].split(",")
        processors = {"samd": ["cortex-m0plus", "cortex-m4"], "sam": ["cortex-m3"], "rp2040": ["cortex-m0plus"],
                      "stm32": ["cortex-m0", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33"]}
        self.assertEqual(sorted(named), sorted(processors))
        source = Path(run(SDK / "arduino/pack.sh", self.folder).strip()) / "src"
        for processor in sorted({processor for name in named for processor in processors[name]}):
            run("arm-none-eabi-gcc", f"-mcpu={processor}", "-mthumb", "-std=gnu11", "-Wall", "-Wextra", "-Werror", f"-I{source}",
                "-fsyntax-only", *source.glob("*.c"))

    def test_a_call_without_a_folder_says_how(self):
        done = subprocess.run([SDK / "arduino/pack.sh"], check=False, capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("fix: pack.sh FOLDER", done.stderr)


class StandIns(InAFolder):
    """The files for systems that are not installed, with stand-ins for these."""

    def stand_ins(self, main):
        """The headers and the main program of a system."""
        for name, text in HEADERS.items():
            (self.folder / name).parent.mkdir(exist_ok=True)
            (self.folder / name).write_text(text)
        (self.folder / "main.c").write_text(main)

    def built(self, project):
        """The output of a project's example."""
        (self.folder / "CMakeLists.txt").write_text(project)
        run("cmake", "-S", self.folder, "-B", self.folder / "build")
        run("cmake", "--build", self.folder / "build", "-j", "2")
        return run(self.folder / "build/example")

    def test_zephyrs_module_is_a_library_and_extends_the_counter(self):
        options = re.findall(r"^config (\w+)\n\tint .*\n\tdefault (\d+)", (SDK / "zephyr/Kconfig").read_text(), re.M)
        self.assertEqual(len(options), 2)
        settings = "".join(f"set(CONFIG_{name} {value})\n" for name, value in [("WIRELAB", "y"), *options])
        self.stand_ins(MAIN)
        project = STAND_IN.format(folder=self.folder, module=SDK / "zephyr", settings=settings, library="wirelab", sdk=SDK)
        self.assertIn(RIGHT, self.built(project))

    def test_esp_idfs_packed_component_holds_all_that_it_and_its_example_need(self):
        component = Path(run(SDK / "esp-idf/pack.sh", self.folder / "packed").strip())
        manifest = (component / "idf_component.yml").read_text()
        self.assertRegex(manifest, r'(?m)^license: "MIT OR Apache-2.0"$')
        self.assertNotIn("example.invalid", manifest)
        self.assertEqual(sorted(path.name for path in component.glob("LICENSE-*")), ["LICENSE-APACHE", "LICENSE-MIT"])
        example = component / re.search(r"- path: (\S+)", manifest)[1]
        # ESP-IDF names a component after its folder, so the example must require that name.
        name, path = re.search(r"^  (\w+):\n    path: (\S+)$", (example / "main/idf_component.yml").read_text(), re.M).groups()
        self.assertEqual(((example / "main" / path).resolve(), name), (component.resolve(), component.name))
        self.stand_ins(MAIN.replace("wl_example();", "(app_main(), 0);").replace("int main", "void app_main(void);\nint main"))
        self.assertIn(RIGHT, self.built(IDF.format(folder=self.folder, component=component, example=example)))

    def test_esp_idfs_pack_without_a_folder_says_how(self):
        done = subprocess.run([SDK / "esp-idf/pack.sh"], check=False, capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("fix: pack.sh FOLDER", done.stderr)


# The least configuration of FreeRTOS and FreeRTOS+TCP.
FREERTOS = """
#define FREERTOS_CONFIG_H
#include <stdint.h>
#define configCPU_CLOCK_HZ 25000000u
#define configTICK_RATE_HZ 1000u
#define configTICK_TYPE_WIDTH_IN_BITS TICK_TYPE_WIDTH_32_BITS
#define configUSE_PREEMPTION 1
#define configMAX_PRIORITIES 7
#define configMINIMAL_STACK_SIZE 256
#define configTOTAL_HEAP_SIZE 1048576
#define configUSE_IDLE_HOOK 0
#define configUSE_TICK_HOOK 0
#define configMAX_SYSCALL_INTERRUPT_PRIORITY 64
#define INCLUDE_xTaskGetCurrentTaskHandle 1
#define INCLUDE_vTaskDelay 1
#define configUSE_COUNTING_SEMAPHORES 1
#define configUSE_MUTEXES 1
#define configASSERT(what) ((what) ? (void)0 : (void)0)
"""
FREERTOS_IP = """
#define FREERTOS_IP_CONFIG_H
#define ipconfigUSE_IPv4 1
#define ipconfigUSE_IPv6 0
#define ipconfigUSE_TCP 1
#define ipconfigIP_TASK_PRIORITY (configMAX_PRIORITIES - 2)
#define ipconfigBYTE_ORDER pdFREERTOS_LITTLE_ENDIAN
#define ipconfigUSE_NETWORK_EVENT_HOOK 1
"""


class FreeRtosPlusTcp(InAFolder):
    """The glue with the headers of FreeRTOS+TCP, in folders that the environment names."""

    def test_the_glue_and_its_task_compile_with_and_without_the_semaphore_that_wakes(self):
        tcp, kernel = os.environ.get("FREERTOS_PLUS_TCP"), os.environ.get("FREERTOS_KERNEL")
        if not (tcp and kernel and shutil.which("arm-none-eabi-gcc")):
            self.skipTest(f"{TCP_FEATURE}: FREERTOS_PLUS_TCP and FREERTOS_KERNEL name no checkouts")
        places = [f"{tcp}/source/include", f"{tcp}/source/portable/Compiler/GCC", f"{kernel}/include", f"{kernel}/portable/GCC/ARM_CM3"]
        flags = "-mcpu=cortex-m3 -mthumb -std=gnu11 -Wall -Wextra -Wconversion -Werror -fsyntax-only".split()
        flags += [f"-I{folder}" for folder in (self.folder, FIRMWARE / "lib/include", FIRMWARE / "app", FIRMWARE / "glue/freertos-tcp")]
        flags += [word for place in places for word in ("-isystem", place)]
        (self.folder / "FreeRTOSConfig.h").write_text(FREERTOS)
        for wakes in (0, 1):
            (self.folder / "FreeRTOSIPConfig.h").write_text(f"{FREERTOS_IP}#define ipconfigSOCKET_HAS_USER_SEMAPHORE {wakes}\n")
            for file in [*(FIRMWARE / "glue/freertos-tcp").glob("*.c"), SDK / "freertos-tcp/node_task.c"]:
                run("arm-none-eabi-gcc", *flags, file)


class Manifests(unittest.TestCase):
    """The manifests of the ecosystems."""

    def version(self):
        """The firmware's own."""
        return re.search(r'"wirelab-firmware ([\d.]+)"', (FIRMWARE / "glue/lwip/node.c").read_text())[1]

    def test_all_have_the_version_of_the_firmware(self):
        found = {
            "PlatformIO": json.loads((FIRMWARE / "lib/library.json").read_text())["version"],
            "Arduino": re.search(r"^version=(.*)$", (SDK / "arduino/library.properties").read_text(), re.M)[1],
            "ESP-IDF": re.search(r'^version: "(.*)"$', (SDK / "esp-idf/idf_component.yml").read_text(), re.M)[1],
            "CMake": re.search(r"VERSION ([\d.]+) LANGUAGES", (FIRMWARE / "lib/CMakeLists.txt").read_text())[1],
        }
        self.assertEqual(found, dict.fromkeys(found, self.version()))

    def test_the_files_that_they_name_exist(self):
        root = FIRMWARE.parent
        library = json.loads((FIRMWARE / "lib/library.json").read_text())
        named = [FIRMWARE / "lib" / library["build"][key] for key in ("srcDir", "includeDir")]
        named.append(FIRMWARE / "lib/include" / library["headers"])
        named += [root / path for path in re.findall(r"firmware/[\w/.-]+", (root / "zephyr/module.yml").read_text())]
        named += [SDK / "esp-idf" / path for path in re.findall(r"- path: (\S+)", (SDK / "esp-idf/idf_component.yml").read_text())]
        ini = (SDK / "platformio/platformio.ini").read_text()
        named += [SDK / "platformio" / re.search(r"symlink://(\S+)", ini)[1] / "library.json"]
        # A filter of sources is relative to their folder.
        sources = SDK / "platformio" / re.search(r"^src_dir = (\S+)$", ini, re.M)[1]
        named += [sources / path for path in re.findall(r"\+<(.*?)>", ini)]
        named.append(SDK / "esp-idf/examples/frames/main/idf_component.yml")
        self.assertGreater(len(named), 10)
        for path in named:
            self.assertTrue(path.exists(), path)

    def test_zephyrs_and_arduinos_required_keys_are_there(self):
        self.assertRegex((FIRMWARE.parent / "zephyr/module.yml").read_text(), r"(?m)^name: wirelab\nbuild:\n  cmake: \S+\n  kconfig: \S+$")
        keys = [line.split("=")[0] for line in (SDK / "arduino/library.properties").read_text().splitlines()]
        # https://arduino.github.io/arduino-cli/latest/library-specification/
        for key in ["name", "version", "author", "maintainer", "sentence", "paragraph", "category", "url", "architectures"]:
            self.assertIn(key, keys)
        self.assertNotRegex((SDK / "arduino/library.properties").read_text(), r"example\.invalid|architectures=\*")

    def test_nuttxs_makefile_has_all_sources_of_the_node_on_sockets(self):
        makefile = (SDK / "nuttx/Makefile").read_text()
        named = set(re.findall(r"\b\w+\.c\b", makefile))
        places = re.search(r"^VPATH \+= (.*)$", makefile, re.M)[1].replace("$(WIRELAB_FIRMWARE)", str(FIRMWARE)).strip(":").split(":")
        places.append(SDK / "nuttx")
        for name in named:
            self.assertEqual(sum((Path(place) / name).is_file() for place in places), 1, name)
        built = (FIRMWARE / "glue/sockets/CMakeLists.txt").read_text().split("add_executable(wl_node")[1].split(")")[0]
        wanted = set(re.findall(r"\b\w+\.c\b", built))
        wanted |= {file.name for pattern in ("frame_*", "control_*", "iperf_*") for file in (FIRMWARE / "lib/src").glob(f"{pattern}.c")}
        self.assertEqual(named, wanted | {"example.c", "example_main.c", "points.c"})
        options = re.findall(r"CONFIG_(WIRELAB\w*)", makefile)
        self.assertLessEqual(set(options), set(re.findall(r"^config (\w+)", (SDK / "nuttx/Kconfig").read_text(), re.M)))


if __name__ == "__main__":
    unittest.main()
