//! Where frames enter a net from outside.

use wirelab_trial::{Direction, Layer};

use super::chain::Build;
use super::{BuildError, StageOrigin, cost};
use wirelab_sim::net::{Arrivals, OnMissing, Spread, Stage, Trigger};

impl Build<'_> {
    /// The stage where frames arrive from outside at an even rate; `None` where the node sends as fast as it can, or a
    /// TCP peer as fast as the node's window lets it.
    pub fn source(
        &mut self,
        port: u32,
        direction: Direction,
        paths: &[usize],
    ) -> Result<Option<usize>, BuildError> {
        let transmit = direction == Direction::Transmit;
        let frames_per_s = match (
            self.setting.resolved.frames_per_s,
            self.setting.resolved.link,
        ) {
            (Some(rate), _) => rate,
            (None, _) if transmit || self.has_window(paths) => return Ok(None),
            (None, Some(link)) => link.frames_per_s(&self.setting.resolved.sizes),
            (None, None) => return Err(cost::no_link()),
        };
        let (mut burst, mut lost_before_ratio) = (1, 0.0);
        if !transmit {
            if let Some(name) = &self.file.arrivals.burst {
                burst = self.file.count(name).map_err(BuildError::Model)?.max(1);
            }
            if let Some(name) = &self.file.arrivals.lost_before {
                lost_before_ratio = self.file.ratio(name).map_err(BuildError::Model)?;
            }
        }
        self.built.net.stages.push(Stage {
            name: self.named(if transmit { "offered load" } else { "arrivals" }, port),
            resource: None,
            priority: 0,
            cost_ps: 0,
            spread: Spread::None,
            trigger: Trigger::Arrivals(Arrivals {
                frames_per_s,
                burst,
                lost_before_ratio,
            }),
            on_missing: OnMissing::Wait,
        });
        let arrivals = &self.file.arrivals;
        let parameters = arrivals
            .burst
            .iter()
            .chain(&arrivals.lost_before)
            .filter(|_| !transmit)
            .cloned()
            .collect();
        self.built.origins.push(StageOrigin {
            stage: None,
            port,
            costs: Vec::new(),
            scale: 1.0,
            parameters,
        });
        Ok(Some(self.built.net.stages.len() - 1))
    }

    /// Whether a TCP peer waits for window space at the first stage of these paths.
    fn has_window(&self, paths: &[usize]) -> bool {
        let tcp = matches!(
            self.setting.resolved.trial.framing.layer,
            Layer::TcpIpv4 | Layer::TcpIpv6
        );
        let first = paths.first().and_then(|index| self.file.paths.get(*index));
        tcp && first.is_some_and(|path| {
            let starts = path.stages.first();
            path.rooms.iter().any(|room| Some(&room.to) == starts)
        })
    }
}
