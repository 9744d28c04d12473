//! Shared by the tests in labs: two labs with the impairer between them, and sockets at both ends.
//!
//! ```text
//! tester = near-tester/t0 ── near-node/n0 <─ impairer ─> far-node/n0 ── far-tester/t0 = node
//! 198.18.0.2                                                                  198.18.0.9
//! ```

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use wirelab_impair::{DirectionSpec, ImpairHandle, ImpairReport, ImpairSpec, Impairer};
use wirelab_port::lab::{EphemeralLab, Lab, LabSpec, Side};

const PATIENCE: Duration = Duration::from_secs(30);
const IPV4: u16 = 0x0800;

pub struct Rig {
    near: EphemeralLab,
    far: EphemeralLab,
}

/// `None` if namespaces cannot be made, with the line that the test runner expects for a skip.
pub fn rig() -> Option<Rig> {
    if !wirelab_port::netns::may_test() {
        return None;
    }
    let [near, far] = [0; 2].map(|_| EphemeralLab::up(&LabSpec::unique("wls", 1)).unwrap());
    in_tester(&far, "ip address flush dev t0");
    in_tester(&far, "ip address add 198.18.0.9/24 dev t0");
    know(&near, "198.18.0.9", &far);
    know(&far, "198.18.0.2", &near);
    Some(Rig { near, far })
}

fn in_tester(lab: &EphemeralLab, command: &str) {
    let argv: Vec<String> = command.split(' ').map(str::to_owned).collect();
    assert_eq!(Lab::exec(lab.name(), Side::Tester, &argv).unwrap(), 0);
}

/// Enter the other end's address on this end. The reply to a query would arrive on another core than the flow's
/// datagrams are sent, so those that waited for it could be overtaken.
fn know(lab: &EphemeralLab, address: &str, other: &EphemeralLab) {
    let mac = other.mac(0, Side::Tester);
    in_tester(
        lab,
        &format!("ip neigh replace {address} lladdr {mac} nud permanent dev t0"),
    );
}

impl Rig {
    /// Forwards IPv4 between both ends.
    pub fn impair(&self, seed: u64, forward: DirectionSpec, backward: DirectionSpec) -> Impairing {
        let mut spec = ImpairSpec::new(seed).only_ethertype(IPV4);
        (spec.forward, spec.backward) = (forward, backward);
        let port = |lab: &EphemeralLab| lab.port(0, Side::Node).unwrap();
        Impairing(Impairer::start(&port(&self.near), &port(&self.far), spec).unwrap())
    }

    /// A socket of the tester, connected to one of the node.
    pub fn sockets(&self) -> (UdpSocket, UdpSocket) {
        let bound = |lab: &EphemeralLab, address: &str| {
            let netns = lab.netns(Side::Tester).unwrap();
            netns.run_in(|| UdpSocket::bind(address)).unwrap().unwrap()
        };
        let tester = bound(&self.near, "198.18.0.2:0");
        let node = bound(&self.far, "198.18.0.9:0");
        tester.connect(node.local_addr().unwrap()).unwrap();
        wirelab_socket::udp::prepare(&node);
        (tester, node)
    }
}

/// Run `work` in the namespace of the node's sockets, where their drops are counted.
pub fn in_node<T: Send>(rig: &Rig, work: impl FnOnce() -> T + Send) -> T {
    let netns = rig.far.netns(Side::Tester).unwrap();
    netns.run_in(work).unwrap()
}

pub struct Impairing(ImpairHandle);

impl Impairing {
    /// Ends when this many frames have been forwarded; returns the ledger, which must be complete.
    pub fn stop(self, forward_frames: u64) -> ImpairReport {
        let deadline = Instant::now() + PATIENCE;
        while self.0.received_frames()[0] < forward_frames {
            let came = self.0.received_frames();
            assert!(Instant::now() < deadline, "{came:?} of {forward_frames}");
            std::thread::sleep(Duration::from_millis(2));
        }
        let report = self.0.stop();
        assert!(report.is_complete(), "{report:?}");
        report
    }
}
