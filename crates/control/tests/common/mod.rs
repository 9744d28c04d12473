//! A network in which time stands still until a peer waits: loss, repetition, reordering and damage by a seed.

pub mod demo;

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use demo::DemoNode;
use wirelab_control::line::MAX_LINE;
use wirelab_control::value::{Extent, Load};
use wirelab_control::{Config, LineBuf, Peer, Server, Transport, client::Patience, message::Start};
use wirelab_trial::Direction;
use wirelab_wire::{Layer, Size, SizeUnit};

/// How bad the network is: chances in percent.
#[derive(Clone, Copy, Default)]
pub struct Weather {
    pub loss: u64,
    pub repeat: u64,
    pub damage: u64,
    /// Longest delay in ms; anything above the others' delay reorders.
    pub delay_ms: u64,
}

pub struct World {
    pub server: Server<DemoNode>,
    pub now: Duration,
    pub weather: Weather,
    random: u64,
    flying: Vec<(Duration, usize, bool, Vec<u8>)>,
    pub peers: Vec<Peer>,
}

pub fn config() -> Config {
    Config {
        max_sessions: 4,
        max_sessions_per_peer: 2,
        seed: Some(42),
    }
}

impl World {
    pub fn new(weather: Weather, seed: u64) -> Rc<RefCell<World>> {
        Rc::new(RefCell::new(World {
            server: Server::new(DemoNode::default(), config()),
            now: Duration::ZERO,
            weather,
            random: seed | 1,
            flying: Vec::new(),
            peers: Vec::new(),
        }))
    }

    fn random(&mut self, below: u64) -> u64 {
        // xorshift64 (Marsaglia 2003)
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) % below
    }

    fn post(&mut self, client: usize, to_server: bool, bytes: &[u8]) {
        let Weather {
            loss,
            repeat,
            damage,
            delay_ms,
        } = self.weather;
        let copies = if self.random(100) < loss {
            0
        } else {
            1 + usize::from(self.random(100) < repeat)
        };
        for _ in 0..copies {
            let mut copy = bytes.to_vec();
            if self.random(100) < damage {
                let at = self.random(copy.len() as u64) as usize;
                copy[at] ^= 1 << self.random(8);
            }
            let at = self.now + Duration::from_micros(100 + self.random(delay_ms * 1000 + 1));
            self.flying.push((at, client, to_server, copy));
        }
    }

    /// Let the next thing happen that happens before `until`; a line for `client` is handed over.
    fn step(&mut self, client: usize, until: Duration) -> Option<Option<Vec<u8>>> {
        let next = (0..self.flying.len())
            .filter(|i| self.flying[*i].0 <= until)
            .min_by_key(|i| self.flying[*i].0);
        let Some(next) = next else {
            self.now = until;
            return Some(None);
        };
        let (at, whose, to_server, bytes) = self.flying.swap_remove(next);
        self.now = self.now.max(at);
        if to_server {
            let mut out = LineBuf::new();
            let (peer, now) = (self.peers[whose], self.now);
            if self.server.handle(&bytes, peer, now, &mut out).is_some() {
                self.post(whose, false, out.as_bytes());
            }
            None
        } else {
            // A datagram for a client that is not waiting is lost to it.
            (whose == client).then_some(Some(bytes))
        }
    }
}

pub struct Simulated {
    pub world: Rc<RefCell<World>>,
    pub client: usize,
}

impl Simulated {
    pub fn join(world: &Rc<RefCell<World>>, peer: Peer) -> Simulated {
        let mut inner = world.borrow_mut();
        inner.peers.push(peer);
        Simulated {
            world: Rc::clone(world),
            client: inner.peers.len() - 1,
        }
    }
}

impl Transport for Simulated {
    fn send(&mut self, line: &[u8]) -> io::Result<()> {
        self.world.borrow_mut().post(self.client, true, line);
        Ok(())
    }
    fn receive(
        &mut self,
        line: &mut [u8; MAX_LINE],
        deadline: Duration,
    ) -> io::Result<Option<usize>> {
        loop {
            if let Some(done) = self.world.borrow_mut().step(self.client, deadline) {
                return Ok(done.map(|bytes| {
                    line[..bytes.len()].copy_from_slice(&bytes);
                    bytes.len()
                }));
            }
        }
    }
    fn now(&self) -> Duration {
        self.world.borrow().now
    }
    fn needs_check(&self) -> bool {
        // Damage is only found by the check.
        true
    }
}

pub fn host(last: u8) -> Peer {
    Peer::Host([192, 0, 2, last].into())
}

pub fn many_tries() -> Patience {
    Patience {
        tries: 200,
        ..Patience::default()
    }
}

pub fn transmit(frames: u64) -> Start {
    Start {
        size: Some(Size::new(SizeUnit::Length, 1514)),
        load: Some(Load::Max),
        peer_mac: Some(wirelab_control::value::Mac([2, 0, 0, 0, 0, 1])),
        ..Start::new(Direction::Transmit, Layer::Ethernet, Extent::Frames(frames))
    }
}
