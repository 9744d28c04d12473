//! A store in a PostgreSQL that is reached by TLS: whose certificate is trusted, and what is refused with which fix.

use crate::common::postgres::{database, encrypted};
use wirelab_store::{Location, Store};

fn open(address: &str) -> Result<Store, String> {
    let place: Location = address.parse().expect("an address");
    Store::open(&place).map_err(|error| error.to_string())
}

#[test]
fn a_server_is_trusted_by_who_signed_its_certificate_and_by_its_name() {
    let Some((place, root)) = encrypted() else {
        return;
    };
    let root = root.display();
    for mode in ["require", "verify-ca", "verify-full"] {
        let mut store = open(&format!("{place}?sslmode={mode}&sslrootcert={root}")).expect(mode);
        assert_eq!(store.list(&Default::default()).expect("a list").len(), 0);
    }
    // A signer whom nobody trusts, another name, and a file that has none.
    let unknown = open(&format!("{place}?sslmode=require"))
        .err()
        .expect("a refusal");
    assert!(
        unknown.contains("certificate") && unknown.contains("fix: "),
        "{unknown}"
    );
    let elsewhere = place.replace("localhost", "127.0.0.1");
    let wrong = open(&format!(
        "{elsewhere}?sslmode=verify-full&sslrootcert={root}"
    ));
    let wrong = wrong.err().expect("a refusal");
    assert!(
        wrong.contains("certificate") && wrong.contains("give the certificate of its issuer"),
        "{wrong}"
    );
    let none = open(&format!("{place}?sslmode=require&sslrootcert=/dev/null"));
    let none = none.err().expect("a refusal");
    assert!(
        none.contains("sslrootcert") && none.contains("fix: "),
        "{none}"
    );
}

#[test]
fn what_an_address_says_of_tls_is_taken_or_refused_with_a_fix() {
    let place = "postgres://wirelab@localhost:1/x";
    for (asks, says) in [
        ("sslmode=maybe", "write verify-full for TLS, or disable"),
        ("sslrootcert=root.pem", "add sslmode=verify-full"),
        (
            "sslmode=verify-full&sslrootcert=missing.pem",
            "name a file of certificates in PEM",
        ),
    ] {
        let refused = open(&format!("{place}?{asks}")).err().expect(asks);
        assert!(refused.contains(says), "{asks}: {refused}");
    }
}

#[test]
fn a_server_without_tls_is_named_with_a_fix() {
    let Some(plain) = database() else {
        return;
    };
    let refused = open(&format!("{plain}&sslmode=require"))
        .err()
        .expect("a refusal");
    assert!(
        refused.contains("TLS") && refused.contains("fix: "),
        "{refused}"
    );
}
