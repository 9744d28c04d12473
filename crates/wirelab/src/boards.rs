//! An emulated board as a node: brought up by its room, asked by that of remote nodes, watched meanwhile.

use wirelab_board::{Board, BoardError, Options};
use wirelab_port::netns::NetNs;
use wirelab_remote::{ControlNode, Ends};
use wirelab_trial::{
    Cancel, Description, Node, NodeError, Observation, Progress, Status, Trial, Warning,
};

use crate::exit::Failure;

/// A board in QEMU, with an open session; it ends with this value.
pub struct BoardNode {
    // The session ends before the board does.
    node: ControlNode,
    namespace: Option<NetNs>,
    board: Board,
    /// How often the board has come up.
    starts: usize,
}

/// What a failed start means for the command.
pub fn failure(error: BoardError) -> Failure {
    match error {
        BoardError::NeverUp { .. } | BoardError::Died { .. } | BoardError::Io { .. } => {
            Failure::failed(error)
        }
        error if error.is_privilege() => Failure::Privilege(error.to_string()),
        error => Failure::usage(error),
    }
}

impl BoardNode {
    /// Start the board and open a session; `name` is what it is called on the command line.
    pub fn start(name: &str, board: &str, options: &Options) -> Result<BoardNode, Failure> {
        let mut board = Board::start(board, options).map_err(failure)?;
        let namespace = board.namespace().map_err(failure)?;
        let opened = match (board.ip(), board.frames()) {
            (Some(ip), _) => {
                let connect = board.connector();
                within(namespace.as_ref(), || {
                    ControlNode::board(name, ip.into(), connect)
                })
            }
            (None, Some(frames)) => {
                let ends = board.addresses();
                let ends = Ends {
                    node_mac: ends.mac.0,
                    node_ip: ends.ip,
                    tester_mac: ends.tester_mac.0,
                    tester_ip: ends.tester_ip,
                };
                ControlNode::on_wire(name, frames, ends, board.connector())
            }
            (None, None) => Err(NodeError::Failed(format!("{name} has no wire"))),
        };
        let mut node = opened.map_err(|error| match board.check() {
            Err(dead) => failure(dead),
            Ok(()) => error.into(),
        })?;
        let image = board.image().file_name().unwrap_or_default();
        let emulator = wirelab_board::qemu::version().unwrap_or_else(|| "QEMU".to_owned());
        node.know([
            ("emulator".to_owned(), emulator),
            ("image".to_owned(), image.to_string_lossy().into_owned()),
        ]);
        Ok(BoardNode {
            node,
            namespace,
            starts: board.starts(),
            board,
        })
    }

    /// Whether its frames go over a wire that wirelab fills itself.
    pub fn is_on_wire(&self) -> bool {
        self.board.ip().is_none()
    }

    /// What happened to the board since it was last asked; `None` where nothing did.
    fn trouble(&mut self) -> Option<String> {
        if let Err(dead) = self.board.check() {
            return Some(dead.to_string());
        }
        let starts = self.board.starts();
        if starts > std::mem::replace(&mut self.starts, starts) {
            let console = self.board.console().tail();
            return Some(format!("the board has started anew by itself; {console}"));
        }
        None
    }
}

impl Node for BoardNode {
    fn describe(&self) -> Description {
        self.node.describe()
    }

    fn run(
        &mut self,
        trial: &Trial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Observation, NodeError> {
        self.board
            .check()
            .map_err(|dead| NodeError::Failed(dead.to_string()))?;
        let node = &mut self.node;
        let ran = within(self.namespace.as_ref(), || {
            node.run(trial, progress, cancel)
        });
        let trouble = self.trouble();
        let mut observation = match (ran, trouble) {
            (Ok(observation), None) => observation,
            (Ok(mut observation), Some(trouble)) => {
                observation.status = Status::Partial { why: trouble };
                observation
            }
            (Err(NodeError::Failed(text)), Some(trouble)) => {
                return Err(NodeError::Failed(format!("{trouble}; {text}")));
            }
            (Err(error), _) => return Err(error),
        };
        if let Some(why) = self.board.without_tap() {
            observation.warnings.push(Warning {
                code: "no-interface".to_owned(),
                text: format!("wirelab itself is the wire to this board ({why}): rates are those of two processes"),
                way_out: "run it with sudo, so that the board gets an interface of this host (TAP)".to_owned(),
            });
        }
        Ok(observation)
    }
}

/// Do something in a namespace, if there is one.
fn within<T: Send>(
    namespace: Option<&NetNs>,
    work: impl FnOnce() -> Result<T, NodeError> + Send,
) -> Result<T, NodeError> {
    match namespace {
        None => work(),
        Some(namespace) => namespace
            .run_in(work)
            .unwrap_or_else(|error| Err(NodeError::Failed(error.to_string()))),
    }
}
