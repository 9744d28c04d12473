//! A running node: control over TCP and UDP, and iperf servers, on one address and on the node's cores.

use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use serde::{Serialize, Serializer};
use wirelab_control::serve::SharedServer;
use wirelab_control::{Config, Server};
use wirelab_cores::{Cores, pin_thread, prefer_this_thread};
use wirelab_iperf::{v2, v3};
use wirelab_socket::access::Access;
use wirelab_trial::Cancel;

use crate::handler::Agent;
use crate::location::Notices;
use crate::options::{AgentError, Options};

/// What a node reports when it starts.
#[derive(Clone, Debug, Serialize)]
pub struct Started {
    /// Its name.
    pub name: String,
    /// Where it listens for control, TCP and UDP.
    pub control: SocketAddr,
    /// The interface of the trials.
    pub interface: String,
    /// The cores that do its work.
    #[serde(serialize_with = "numbers")]
    pub cores: Cores,
    /// Whether its CPU load may include the tester's work.
    pub shared: bool,
    /// The layers it offers, as the protocol names them.
    pub layers: Vec<&'static str>,
    /// Where iperf 2 is served, TCP and UDP.
    pub iperf2: Option<SocketAddr>,
    /// Where iperf3 is served.
    pub iperf3: Option<SocketAddr>,
    /// The set-up keys.
    #[serde(serialize_with = "by_key")]
    pub setup: Vec<(String, String)>,
    /// What is missing, and how to get it.
    pub notices: Vec<String>,
}

fn numbers<S: Serializer>(cores: &Cores, to: S) -> Result<S::Ok, S::Error> {
    cores.numbers().serialize(to)
}

fn by_key<S: Serializer>(setup: &[(String, String)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(setup.iter().map(|(key, value)| (key, value)))
}

/// A running node. When it is dropped, it ends and restores what it changed on the host.
#[derive(Debug)]
pub struct Serving {
    shared: Arc<SharedServer<Agent>>,
    cancel: Cancel,
    started: Started,
    thread: Option<JoinHandle<()>>,
}

impl Serving {
    /// Start a node in the network namespace of the calling thread. The node's threads are pinned to its cores; the
    /// caller's thread is not.
    ///
    /// # Errors
    /// [`AgentError`]; nothing is left behind then.
    pub fn start(options: Options) -> Result<Serving, AgentError> {
        options.check()?;
        let cancel = Cancel::new();
        let (ready, started) = sync_channel(1);
        let flag = cancel.clone();
        let thread = std::thread::Builder::new()
            .name("wirelab-node".to_owned())
            .spawn(move || run(&options, &flag, &ready))
            .map_err(AgentError::Threads)?;
        let died = || {
            AgentError::Threads(io::Error::other(
                "the node's thread died; this is a bug in wirelab",
            ))
        };
        match started.recv().unwrap_or_else(|_| Err(died())) {
            Ok((shared, started)) => Ok(Serving {
                shared,
                cancel,
                started,
                thread: Some(thread),
            }),
            Err(error) => {
                let _ = thread.join();
                Err(error)
            }
        }
    }

    /// Its description.
    pub const fn started(&self) -> &Started {
        &self.started
    }

    /// Whether it still runs. It ends when it is dropped, or when its sockets fail.
    pub fn is_running(&self) -> bool {
        self.thread
            .as_ref()
            .is_some_and(|thread| !thread.is_finished())
    }

    /// TCP connections for control that were closed because there were too many.
    pub fn refused(&self) -> usize {
        self.shared.refused()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.shared.stop();
        self.cancel.cancel();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

type Ready = SyncSender<Result<(Arc<SharedServer<Agent>>, Started), AgentError>>;

/// The node's own thread. It starts all others, which inherit its cores and its network namespace.
fn run(options: &Options, cancel: &Cancel, ready: &Ready) {
    let node = match open(options, cancel) {
        Ok(node) => node,
        Err(error) => {
            let _ = ready.send(Err(error));
            return;
        }
    };
    let shared = Arc::clone(&node.shared);
    if ready.send(Ok((Arc::clone(&shared), node.started))).is_err() {
        return;
    }
    let over_udp = std::thread::scope(|scope| {
        let udp = scope.spawn(|| shared.serve_udp(&node.udp));
        // Only a failure of the listener ends the node.
        let _ = shared.serve_tcp(&node.tcp);
        shared.stop();
        udp.join()
    });
    drop(over_udp);
    cancel.cancel();
    drop(node.iperf2);
    if let Some(thread) = node.iperf3 {
        let _ = thread.join();
    }
    // Connections end shortly after `stop`. The last one drops the steering, so it is restored here.
    shared.with(|server| server.handler().end());
}

struct Node {
    shared: Arc<SharedServer<Agent>>,
    started: Started,
    tcp: TcpListener,
    udp: UdpSocket,
    iperf2: Option<v2::server::Server>,
    iperf3: Option<JoinHandle<()>>,
}

fn open(options: &Options, cancel: &Cancel) -> Result<Node, AgentError> {
    let listen = |source| AgentError::Listen {
        address: options.listen,
        source,
    };
    // Check everything that may fail because of the options before anything on the host changes.
    let tcp = TcpListener::bind(options.listen).map_err(listen)?;
    let control = tcp.local_addr().map_err(listen)?;
    let udp = UdpSocket::bind(control).map_err(listen)?;
    let mut notices = Notices::new();
    let mut agent = Agent::new(options, &mut notices)?;
    pin_thread(&agent.location().cores)?;
    // A prioritised trial must not delay the replies to the tester or the readings of idle times.
    prefer_this_thread(None);
    agent.watch()?;
    let access = Arc::new(options.access());
    let serving = SideServers {
        options,
        link_bits_per_s: agent.location().interface.link_rate,
        access: &access,
    };
    let (mut iperf2, mut iperf3) = (None, None);
    let (mut iperf2_at, mut iperf3_at) = (None, None);
    if options.iperf {
        let ip = options.listen.ip();
        match serving.iperf2(SocketAddr::new(ip, v2::DEFAULT_PORT)) {
            Ok(server) => {
                iperf2_at = Some(server.tcp_address());
                iperf2 = Some(server);
            }
            Err(why) => notices.push(format!("iperf 2 is not served: {why}")),
        }
        match serving.iperf3(SocketAddr::new(ip, v3::DEFAULT_PORT), cancel) {
            Ok((address, thread)) => {
                iperf3_at = Some(address);
                iperf3 = Some(thread);
            }
            Err(why) => notices.push(format!("iperf3 is not served: {why}")),
        }
    }
    let location = agent.location();
    let started = Started {
        name: agent.name().to_owned(),
        control,
        interface: location.interface.port.interface.clone(),
        cores: location.cores.clone(),
        shared: location.shared,
        layers: agent.layers(),
        iperf2: iperf2_at,
        iperf3: iperf3_at,
        setup: agent.keys().to_vec(),
        notices,
    };
    let server = Server::new(agent, Config::random());
    let server = match &options.token {
        Some(token) => server.with_token(token.clone()),
        None => server,
    };
    Ok(Node {
        shared: SharedServer::for_those(server, access),
        started,
        tcp,
        udp,
        iperf2,
        iperf3,
    })
}

/// Limit in bit/s of iperf's datagrams in reverse if the link reports no rate: that of the fastest common link.
const NO_LINK_BITS_PER_S: u64 = 10_000_000_000;

/// The servers beside the control protocol.
struct SideServers<'a> {
    options: &'a Options,
    link_bits_per_s: Option<u64>,
    access: &'a Arc<Access>,
}

impl SideServers<'_> {
    fn longest(&self) -> Duration {
        Duration::from_nanos(self.options.limits.time_ps / 1000)
    }

    fn iperf2(&self, address: SocketAddr) -> Result<v2::server::Server, String> {
        let limit_bits_per_s = self.options.limits.bits_per_s;
        let config = v2::server::ServerConfig {
            max_back_time: self.longest(),
            max_back_bits_per_s: limit_bits_per_s
                .or(self.link_bits_per_s)
                .unwrap_or(NO_LINK_BITS_PER_S),
            budget_bits_per_s: limit_bits_per_s,
            access: Arc::clone(self.access),
            ..v2::server::ServerConfig::default()
        };
        let tell = Arc::clone(&self.options.on_refusal.0);
        // The figures are not needed: the client prints the report that it gets.
        let heard = Arc::new(move |event| {
            if let v2::server::ServerEvent::Refused { peer, why } = event {
                tell(peer.ip(), why);
            }
        });
        v2::server::Server::start(address, config, heard).map_err(|trouble| trouble.to_string())
    }

    fn iperf3(
        &self,
        address: SocketAddr,
        cancel: &Cancel,
    ) -> Result<(SocketAddr, JoinHandle<()>), String> {
        let mut server = v3::server::Server::bind(address).map_err(|e| e.to_string())?;
        server.set_longest(self.longest());
        server.set_access(Arc::clone(self.access));
        server.set_max_rate(self.options.limits.bits_per_s);
        let (at, flag) = (server.local_addr(), cancel.clone());
        let serve = move || {
            while !flag.is_cancelled() {
                // A failed test does not end the server.
                let _ = server.serve_one(&flag);
            }
        };
        let thread = std::thread::Builder::new()
            .name("wirelab-iperf3".to_owned())
            .spawn(serve)
            .map_err(|e| e.to_string())?;
        Ok((at, thread))
    }
}
