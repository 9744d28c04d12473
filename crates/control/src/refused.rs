//! Translates a node's refusal to start a trial for the requester of the trial.

use wirelab_trial::{NodeError, Size, TrialField, TrialOption};

use crate::client::ClientError;
use crate::refusal::{Code, Refusal};
use crate::value::{Extent, Load, Slot};

/// The meaning of a refused or failed `start` for the trial.
pub fn of_start(error: &ClientError) -> NodeError {
    let ClientError::Refused { refusal, .. } = error else {
        return NodeError::Failed(error.to_string());
    };
    let why = words(refusal);
    let wire_field = refusal.field.as_deref().unwrap_or_default();
    let field = trial_field(wire_field);
    // The field is already named beside the reason.
    let is_named = field.is_some_and(|field| field.name() == wire_field);
    let alone = || match is_named {
        true => words(&Refusal {
            field: None,
            ..refusal.clone()
        }),
        false => why.clone(),
    };
    let fix = refusal.code.fix();
    match refusal.code {
        Code::Unsupported => NodeError::unsupported(field, format!("{}; fix: {fix}", alone())),
        // An older node that does not know the field or the word.
        Code::UnknownField | Code::BadValue if is_newer(refusal) => NodeError::unsupported(
            field,
            format!(
                "this node does not know it ({}); fix: leave it out, or use a newer node",
                alone()
            ),
        ),
        Code::Limit => NodeError::BadTrial(format!(
            "beyond what the node allows: {why}; fix: request less"
        )),
        Code::Busy => NodeError::Failed(format!(
            "another tester runs a trial on the node ({why}); fix: wait until it is over"
        )),
        Code::Peer => NodeError::Failed(format!(
            "the node sends only to the requesting host: {why}; fix: {fix}"
        )),
        _ => NodeError::Failed(format!("the node refuses the trial: {why}; fix: {fix}")),
    }
}

/// Whether the field was added to the protocol after its first nodes.
fn is_newer(refusal: &Refusal) -> bool {
    let newer = [
        "wait",
        "rule",
        "probes",
        "strict_gaps",
        "background_port",
        "capture_unit",
    ];
    refusal
        .field
        .as_deref()
        .is_some_and(|field| newer.contains(&field))
}

fn words(refusal: &Refusal) -> String {
    let field = refusal.field.as_deref().map(|f| format!("{f}: "));
    let limit = refusal.limit.map(|l| format!("the limit is {l}"));
    let why = refusal.why.clone().or(limit);
    let why = why.unwrap_or_else(|| refusal.code.word().to_owned());
    format!("{}{why}", field.unwrap_or_default())
}

/// The field of a trial that corresponds to a field of the protocol: mostly the one with its name.
fn trial_field(field: &str) -> Option<TrialField> {
    match field {
        "background_port" => Some(TrialOption::Background.into()),
        "limit_ps" => Some(TrialField::Extent),
        _ if Extent::knows("", field) => Some(TrialField::Extent),
        _ if Option::<Load>::knows("", field) => Some(TrialField::Load),
        _ if Option::<Size>::knows("", field) => Some(TrialField::Size),
        _ => TrialField::named(field),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(refusal: Refusal) -> NodeError {
        of_start(&ClientError::Refused {
            command: "start",
            refusal,
        })
    }

    #[test]
    fn refusals_become_errors_of_the_trial() {
        let cannot = refused(Refusal::unsupported("load_ppm", "no link rate"));
        let NodeError::Unsupported(cannot) = cannot else {
            panic!("{cannot}");
        };
        assert_eq!(cannot.field, Some(TrialField::Load));
        assert!(cannot.why.contains("no link rate"));
        for (wire, field) in [
            ("background_port", "background"),
            ("time_ps", "extent"),
            ("limit_ps", "extent"),
            ("payload_bytes", "size"),
            ("vlan_tags", "vlan_tags"),
            ("strict_gaps", "strict_gaps"),
            ("descriptors", "trial"),
        ] {
            assert_eq!(trial_field(wire).map_or("trial", TrialField::name), field);
        }
        let limit = refused(Refusal::limit("frames", 7));
        assert!(matches!(&limit, NodeError::BadTrial(t) if t.contains("frames: the limit is 7")));
        let old = Refusal {
            field: Some("wait".to_owned()),
            ..Refusal::new(Code::UnknownField)
        };
        let NodeError::Unsupported(old) = refused(old) else {
            panic!("an older node cannot do it");
        };
        assert_eq!(old.field.map(TrialField::name), Some("wait"));
        assert!(old.why.contains("newer node"), "{}", old.why);
        let busy = refused(Refusal::new(Code::Busy));
        assert!(busy.to_string().contains("another tester"), "{busy}");
    }
}
