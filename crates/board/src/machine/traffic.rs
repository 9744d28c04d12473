//! The tester's side of counted traffic: one frame at a time, or a place for what the machine sends.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use wirelab_port::netns::NetNs;

use super::file::Traffic;
use super::sys::{acknowledge_at_once, leave_unnumbered};

/// Longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// Longest wait of the sink for data, so that it ends soon.
const LOOK: Duration = Duration::from_millis(50);
/// The port that datagrams are sent from: any that no service of the tester has.
const SOURCE_PORT: u16 = 40_007;
/// Bytes of the first fields of an iperf datagram: sequence, seconds, microseconds, upper half of the sequence.
const HEADER_BYTES: usize = 16;

/// Sends frames to the machine, one at a time.
#[derive(Debug)]
pub struct Source {
    peer: Peer,
    data: Vec<u8>,
    sequence: u32,
}

#[derive(Debug)]
enum Peer {
    Udp(UdpSocket, SocketAddr),
    Tcp(TcpStream),
}

impl Source {
    /// Opens a socket of a namespace to a service of the machine; each frame has so many bytes of data.
    ///
    /// # Errors
    /// The system's error.
    pub fn open(
        namespace: &NetNs,
        ip: Ipv4Addr,
        traffic: Traffic,
        bytes: usize,
    ) -> io::Result<Source> {
        let opened = namespace.run_in(|| -> io::Result<Peer> {
            match traffic {
                Traffic::Tcp(port) => {
                    let stream = connect((ip, port).into())?;
                    stream.set_nodelay(true)?;
                    stream.set_nonblocking(true)?;
                    Ok(Peer::Tcp(stream))
                }
                Traffic::Udp(port) => {
                    // The same headers in each run, whose checksums some stacks compute by branches.
                    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, SOURCE_PORT))?;
                    leave_unnumbered(&socket)?;
                    socket.set_nonblocking(true)?;
                    Ok(Peer::Udp(socket, (ip, port).into()))
                }
                Traffic::Echo => Err(io::ErrorKind::InvalidInput.into()),
            }
        });
        Ok(Source {
            peer: opened.map_err(io::Error::other)??,
            data: vec![0; bytes],
            sequence: 0,
        })
    }

    /// Sends a frame. A datagram begins as one of iperf, whose servers count them; all others take any data.
    ///
    /// # Errors
    /// The system's error.
    pub fn send(&mut self) -> io::Result<()> {
        self.sequence += 1;
        match &mut self.peer {
            Peer::Udp(socket, to) => {
                let header = self.sequence.to_be_bytes();
                if let Some(first) = self.data.get_mut(..HEADER_BYTES) {
                    first[..4].copy_from_slice(&header);
                }
                socket.send_to(&self.data, *to).map(drop)
            }
            Peer::Tcp(stream) => stream.write_all(&self.data),
        }
    }

    /// Takes what came back, which is of no interest. TCP acknowledges it, so that
    /// each segment finds the machine's connection in the same state.
    ///
    /// # Errors
    /// The system's error.
    pub fn take_answers(&mut self) -> io::Result<()> {
        let mut answers = [0; 2048];
        match &mut self.peer {
            Peer::Udp(socket, _) => while socket.recv(&mut answers).is_ok() {},
            Peer::Tcp(stream) => {
                while stream.read(&mut answers).is_ok_and(|count| count > 0) {}
                acknowledge_at_once(stream)?;
            }
        }
        Ok(())
    }
}

/// Connects, also to a server that was started a moment ago and does not listen yet.
fn connect(to: SocketAddr) -> io::Result<TcpStream> {
    let begun = Instant::now();
    loop {
        match TcpStream::connect_timeout(&to, CONNECT) {
            Err(e) if e.kind() == io::ErrorKind::ConnectionRefused && begun.elapsed() < CONNECT => {
                std::thread::sleep(LOOK);
            }
            connected => return connected,
        }
    }
}

/// Takes what the machine sends to a port of the tester; it ends with this value.
#[derive(Debug)]
pub struct Sink {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Sink {
    /// Opens the port in a namespace.
    ///
    /// # Errors
    /// The system's error.
    pub fn open(namespace: &NetNs, traffic: Traffic) -> io::Result<Sink> {
        let over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&over);
        let start = || -> io::Result<JoinHandle<()>> {
            match traffic {
                Traffic::Udp(port) => {
                    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port))?;
                    socket.set_read_timeout(Some(LOOK))?;
                    std::thread::Builder::new().spawn(move || take_datagrams(&socket, &ends))
                }
                Traffic::Tcp(port) => {
                    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port))?;
                    listener.set_nonblocking(true)?;
                    std::thread::Builder::new().spawn(move || take_streams(&listener, &ends))
                }
                Traffic::Echo => Err(io::ErrorKind::InvalidInput.into()),
            }
        };
        let thread = namespace.run_in(start).map_err(io::Error::other)??;
        Ok(Sink {
            over,
            thread: Some(thread),
        })
    }
}

fn take_datagrams(socket: &UdpSocket, over: &AtomicBool) {
    let mut bytes = [0; 2048];
    while !over.load(Ordering::Relaxed) {
        let _ = socket.recv_from(&mut bytes);
    }
}

fn take_streams(listener: &TcpListener, over: &AtomicBool) {
    let mut bytes = [0; 65_536];
    while !over.load(Ordering::Relaxed) {
        let Ok((mut stream, _)) = listener.accept() else {
            std::thread::sleep(LOOK / 10);
            continue;
        };
        let _ = stream.set_nonblocking(false);
        let _ = stream.set_read_timeout(Some(LOOK));
        while !over.load(Ordering::Relaxed) {
            match stream.read(&mut bytes) {
                Ok(0) => break,
                Ok(_) => {}
                Err(e)
                    if matches!(
                        e.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                    ) => {}
                Err(_) => break,
            }
        }
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
