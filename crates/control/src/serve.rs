//! A server on real transports. One [`SharedServer`] server may be served on several of them at once.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::assemble::{Assembled, Assembler};
use crate::line::{LineBuf, MAX_LINE};
use crate::server::{NodeHandler, Peer, Server};
use crate::transport::{Stopwatch, is_timeout};
use wirelab_socket::access::{Access, Proof};

/// Longest time between two checks of the stop flag.
const TICK: Duration = Duration::from_millis(50);
/// Most TCP connections at once. A further one replaces the oldest without a used session; if there is none, the new
/// one is closed immediately.
pub const MAX_CONNECTIONS: usize = 32;
/// Most TCP connections of one address at once; a further one replaces one of the same address.
pub const MAX_CONNECTIONS_PER_PEER: usize = 8;
/// A TCP connection without a line for this long is closed.
const IDLE: Duration = Duration::from_secs(120);
/// A TCP connection without a used session is closed after this time without a line.
const IDLE_UNPROVEN: Duration = Duration::from_secs(30);
/// A peer that does not read its answers for this long is disconnected.
const UNREAD: Duration = Duration::from_secs(2);

/// A server for several transports, and the flag that ends them.
#[derive(Debug)]
pub struct SharedServer<H> {
    server: Mutex<Server<H>>,
    stop: AtomicBool,
    clock: Stopwatch,
    /// The oldest first.
    connections: Mutex<Vec<Arc<Connection>>>,
    refused: AtomicUsize,
    access: Arc<Access>,
}

/// A served TCP connection.
#[derive(Debug)]
struct Connection {
    ip: IpAddr,
    stream: TcpStream,
    /// Whether it ever sent a line of a session whose client has proven everything that the node requires.
    proven: AtomicBool,
}

impl<H: NodeHandler> SharedServer<H> {
    /// Shares a server that every host may use.
    pub fn new(server: Server<H>) -> Arc<SharedServer<H>> {
        SharedServer::for_those(server, Arc::default())
    }

    /// Shares a server with the hosts that `access` admits, and records there what they have proven.
    pub fn for_those(server: Server<H>, access: Arc<Access>) -> Arc<SharedServer<H>> {
        Arc::new(SharedServer {
            access,
            server: Mutex::new(server),
            stop: AtomicBool::new(false),
            clock: Stopwatch::start(),
            connections: Mutex::new(Vec::new()),
            refused: AtomicUsize::new(0),
        })
    }

    /// Ends all transports soon.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// TCP connections that were closed because there were too many.
    pub fn refused(&self) -> usize {
        self.refused.load(Ordering::Relaxed)
    }

    /// Calls `work` with the server between two lines.
    pub fn with<R>(&self, work: impl FnOnce(&mut Server<H>) -> R) -> R {
        // A panic of the handler must not end the other clients.
        work(&mut self.server.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Handles a line; returns whether there is an answer, and whether the client has proven everything required.
    fn handle(&self, bytes: &[u8], peer: Peer, datagram: bool, out: &mut LineBuf) -> (bool, bool) {
        let (answered, proven, token) = self.with(|server| {
            let now = self.clock.now();
            let answered = match datagram {
                true => server.handle_datagram(bytes, peer, now, out),
                false => server.handle(bytes, peer, now, out),
            };
            let answered = answered.is_some();
            (answered, server.last_was_proven(), server.has_token())
        });
        if let (Peer::Host(ip), true) = (peer, proven) {
            let proof = if token { Proof::Token } else { Proof::Receives };
            self.access.note(ip, proof);
        }
        (answered, proven)
    }

    fn poll(&self) {
        self.with(|server| server.poll(self.clock.now()));
    }

    /// Serves datagrams until [`SharedServer::stop`].
    ///
    /// # Errors
    /// Errors of the socket, except those that a single peer can cause.
    pub fn serve_udp(&self, socket: &UdpSocket) -> io::Result<()> {
        socket.set_read_timeout(Some(TICK))?;
        let mut bytes = [0; MAX_LINE + 1];
        let mut out = LineBuf::new();
        while !self.stopped() {
            match socket.recv_from(&mut bytes) {
                Ok((_, from)) if !self.access.admits(from.ip()) => self.poll(),
                Ok((len, from)) => {
                    let peer = Peer::Host(from.ip().to_canonical());
                    if self.handle(&bytes[..len], peer, true, &mut out).0 {
                        // The client repeats lost requests.
                        let _ = socket.send_to(out.as_bytes(), from);
                    }
                }
                Err(error) if is_timeout(&error) || is_of_peer(&error) => self.poll(),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Serves TCP connections, each in its own thread, until [`SharedServer::stop`].
    ///
    /// # Errors
    /// Errors of the listener, except those that a single peer can cause.
    pub fn serve_tcp(self: &Arc<Self>, listener: &TcpListener) -> io::Result<()>
    where
        H: Send + 'static,
    {
        listener.set_nonblocking(true)?;
        while !self.stopped() {
            match listener.accept() {
                Ok((_, from)) if !self.access.admits(from.ip()) => self.poll(),
                Ok((stream, from)) => self.admit(stream, from),
                Err(error) if is_timeout(&error) => {
                    self.poll();
                    std::thread::sleep(Duration::from_millis(5));
                }
                // Out of file descriptors, or a peer that is already gone: the others continue.
                Err(_) => std::thread::sleep(TICK),
            }
        }
        Ok(())
    }

    fn admit(self: &Arc<Self>, stream: TcpStream, from: SocketAddr)
    where
        H: Send + 'static,
    {
        let ip = from.ip().to_canonical();
        // Without a second handle it could not be closed later.
        let Ok(own) = stream.try_clone() else { return };
        let connection = Arc::new(Connection {
            ip,
            stream: own,
            proven: AtomicBool::new(false),
        });
        if !self.make_room(ip) {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.open_connections().push(Arc::clone(&connection));
        let guard = ConnectionGuard {
            shared: Arc::clone(self),
            connection,
        };
        // Without a thread the guard is dropped, which closes the connection.
        let _ = std::thread::Builder::new().spawn(move || {
            let _ = guard.shared.serve_connection(stream, &guard.connection);
        });
    }

    fn open_connections(&self) -> MutexGuard<'_, Vec<Arc<Connection>>> {
        self.connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is room for one more connection of a peer: unproven connections are replaced.
    fn make_room(&self, ip: IpAddr) -> bool {
        let mut open = self.open_connections();
        let own = open.iter().filter(|other| other.ip == ip).count() >= MAX_CONNECTIONS_PER_PEER;
        if !own && open.len() < MAX_CONNECTIONS {
            return true;
        }
        let unproven = open
            .iter()
            .position(|other| (!own || other.ip == ip) && !other.proven.load(Ordering::Relaxed));
        let Some(at) = unproven else { return false };
        self.refused.fetch_add(1, Ordering::Relaxed);
        // Its thread sees the end immediately.
        let _ = open.remove(at).stream.shutdown(Shutdown::Both);
        true
    }

    fn serve_connection(&self, stream: TcpStream, connection: &Connection) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TICK))?;
        stream.set_write_timeout(Some(UNREAD))?;
        let proven = || connection.proven.store(true, Ordering::Relaxed);
        let idle = || match connection.proven.load(Ordering::Relaxed) {
            true => Some(IDLE),
            false => Some(IDLE_UNPROVEN),
        };
        self.serve_bytes(stream, Peer::Host(connection.ip), idle, proven)
    }

    /// Serves a UART, a pipe or a pseudo-terminal until its end or [`SharedServer::stop`]. `read` must time out regularly
    /// ([`io::ErrorKind::WouldBlock`] or `TimedOut`), so that the flag is checked.
    ///
    /// # Errors
    /// Errors of the stream.
    pub fn serve_stream(&self, stream: impl Read + Write, number: u32) -> io::Result<()> {
        self.serve_bytes(stream, Peer::Serial(number), || None, || {})
    }

    fn serve_bytes(
        &self,
        mut stream: impl Read + Write,
        peer: Peer,
        idle: impl Fn() -> Option<Duration>,
        proven: impl Fn(),
    ) -> io::Result<()> {
        let mut assembler = Assembler::new();
        let mut bytes = [0; 2048];
        let mut out = LineBuf::new();
        let mut heard = self.clock.now();
        while !self.stopped() {
            let len = match stream.read(&mut bytes) {
                Ok(0) => return Ok(()),
                Ok(len) => len,
                Err(error) if is_timeout(&error) => {
                    self.poll();
                    if idle().is_some_and(|idle| self.clock.now() - heard > idle) {
                        return Ok(());
                    }
                    0
                }
                Err(error) => return Err(error),
            };
            for byte in &bytes[..len] {
                let answer = match assembler.push_byte(*byte) {
                    None => false,
                    Some(Assembled::Line(line)) => {
                        heard = self.clock.now();
                        let (answered, shown) = self.handle(line, peer, false, &mut out);
                        if shown {
                            proven();
                        }
                        answered
                    }
                    Some(Assembled::TooLong { request }) => {
                        self.with(|server| server.handle_too_long(&mut out).len());
                        request
                    }
                };
                if answer {
                    crate::transport::write_patiently(&mut stream, out.as_bytes())?;
                }
            }
        }
        Ok(())
    }
}

/// An entry in the list of connections, which is removed at any end of the connection.
struct ConnectionGuard<H> {
    shared: Arc<SharedServer<H>>,
    connection: Arc<Connection>,
}

impl<H> Drop for ConnectionGuard<H> {
    fn drop(&mut self) {
        let own = |other: &Arc<Connection>| Arc::ptr_eq(other, &self.connection);
        let open = self.shared.connections.lock();
        open.unwrap_or_else(PoisonError::into_inner)
            .retain(|other| !own(other));
    }
}

/// Whether a peer's ICMP message causes this error on the next call of an unconnected socket.
fn is_of_peer(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset
    )
}
