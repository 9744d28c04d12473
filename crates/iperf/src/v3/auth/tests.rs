//! Tokens, keys and users.

use super::*;

const NOW: u64 = 1_795_613_515;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/keys")
        .join(name)
}

fn credentials(password: &str, padding: Padding) -> Credentials {
    Credentials::new("wire", password, &file("public.pem"), padding).unwrap()
}

fn authorizer(key: &str, padding: Padding) -> Authorizer {
    Authorizer::new(&file(key), &file("users.csv"), padding, SKEW_SECONDS).unwrap()
}

#[test]
fn the_right_user_is_let_in_at_the_right_time() {
    for padding in [Padding::Oaep, Padding::Pkcs1] {
        let token = credentials("lab-secret", padding).token(NOW).unwrap();
        let wrong = credentials("lab-secres", padding).token(NOW).unwrap();
        for key in ["private.pem", "private_pkcs1.pem"] {
            let server = authorizer(key, padding);
            assert_eq!(server.check(Some(&token), NOW + SKEW_SECONDS), Ok(()));
            assert_eq!(server.check(Some(&token), NOW - SKEW_SECONDS), Ok(()));
            let late = server.check(Some(&token), NOW + SKEW_SECONDS + 1);
            assert_eq!(late, Err(NotAuthorized::Skew(SKEW_SECONDS + 1)));
            let refused = server.check(Some(&wrong), NOW);
            assert_eq!(refused, Err(NotAuthorized::Wrong));
            assert_eq!(server.check(None, NOW), Err(NotAuthorized::NoToken));
        }
    }
}

/// The token of `iperf3 -c … --username wire` 3.21, as captured; the password is hidden by OAEP.
const TOKEN_OF_3_21: &str = "\
    JONLcv7nyJpSwuBkjOOxee79l9qX1CN24ilvvbkBk7N4tyY+lzHhluB+5S0lHwEZkyxMEHgAt90VP6Xp7GHaL8\
    0uM95z8hOTHi/93lbM+X5sotSyA60jiYK3Ka9Scc2w6vOL8g8ib7O8rU4xaxL/k5MDGg3YzUGV6d8hDGvfxWws\
    l6UFvFr689PNaqRlJN96NVJs+WKi0XccgJma2+bGQtJ0FPaH90eyXbCechPjs8/Q/ctgauD49hR3R8F9/ZpRu9\
    wwDue6EkfU49K0vUj6SYggbCIUzLidSDRIdhhEEOKjIBIrEwOBXjcIHhkpt9fKhrHCcvaSdndBoFR+bCoDog==";
/// Time of the capture.
const THEN: u64 = 1_795_628_202;

#[test]
fn a_token_of_a_newer_iperf3_is_read() {
    let server = authorizer("private.pem", Padding::Oaep);
    assert_eq!(server.check(Some(TOKEN_OF_3_21), THEN), Ok(()));
    let refused = server.check(Some(TOKEN_OF_3_21), THEN + 3600);
    assert_eq!(refused, Err(NotAuthorized::Skew(3600)));
    let old = authorizer("private.pem", Padding::Pkcs1);
    let refused = old.check(Some(TOKEN_OF_3_21), THEN);
    assert_eq!(refused, Err(NotAuthorized::Unreadable));
}

#[test]
fn what_is_no_token_is_unreadable() {
    let server = authorizer("private.pem", Padding::Oaep);
    let of_another = Credentials::new(
        "wire",
        "lab-secret",
        &file("public_other.pem"),
        Padding::Oaep,
    );
    let of_another = of_another.unwrap().token(NOW).unwrap();
    let padded_otherwise = credentials("lab-secret", Padding::Pkcs1)
        .token(NOW)
        .unwrap();
    let long = "A".repeat(1 << 20);
    for token in ["", "?", "QUJD", &of_another, &padded_otherwise, &long] {
        let refused = server.check(Some(token), NOW);
        assert_eq!(refused, Err(NotAuthorized::Unreadable), "{token:.40}");
    }
    assert_eq!(Claim::parse("user: a\npwd:  b\nts:   -1"), None);
    assert_eq!(Claim::parse("user: a\npwd:  b c\nts:   1"), None);
}

#[test]
fn users_as_iperf3_lists_them() {
    let users = std::fs::read_to_string(file("users.csv")).unwrap();
    assert!(is_user(&users, "wire", "lab-secret"));
    assert!(is_user(&users.replace('\n', "\r\n"), "wire", "lab-secret"));
    assert!(!is_user(&users, "wir", "lab-secret"));
    assert!(!is_user(
        &users.replace("wire,", "#wire,"),
        "wire",
        "lab-secret"
    ));
    assert!(!is_user("wire\nwire,\n", "wire", "lab-secret"));
}

#[test]
fn what_cannot_be_used_says_why() {
    let said = |key: &str, password: &str| {
        let error = Credentials::new("wire", password, &file(key), Padding::Oaep).unwrap_err();
        error.to_string()
    };
    let names = said("none.pem", "a");
    assert!(names.contains("none.pem: No such file"), "{names}");
    let mut all = vec![
        said("private.pem", "a"),
        said("public_short.pem", "a"),
        said("public.pem", "a b"),
        said("public.pem", ""),
    ];
    let long = credentials(&"x".repeat(300), Padding::Oaep).token(NOW);
    all.push(long.unwrap_err().to_string());
    let server = |key: &str, users: &str| {
        let made = Authorizer::new(&file(key), &file(users), Padding::Oaep, 1);
        made.err().unwrap().to_string()
    };
    all.extend(
        [
            "public.pem",
            "private_encrypted.pem",
            "private_pkcs1_encrypted.pem",
        ]
        .map(|key| server(key, "users.csv")),
    );
    all.push(server("private.pem", "none.csv"));
    let folder = format!("{}/", file("").display()).replace("//", "/");
    let all = all.join("\n").replace(&folder, "");
    insta::assert_snapshot!(all, @r"
    private.pem: it holds no public key; fix: openssl rsa -in PRIVATE -pubout writes it
    public_short.pem: its key cannot be used (TooSmall); fix: make one of 2048 to 8192 bits with openssl genrsa
    the password is empty or has spaces; fix: choose another one, as iperf3 reads up to the first space
    the password is empty or has spaces; fix: choose another one, as iperf3 reads up to the first space
    the name and the password are too long for the key; fix: choose a longer key or a shorter password
    public.pem: it holds no private key; fix: openssl genrsa 2048 makes one
    private_encrypted.pem: its key is protected by a password; fix: openssl rsa -in FILE -out OTHER writes one without, and name that
    private_pkcs1_encrypted.pem: its key is protected by a password; fix: openssl rsa -in FILE -out OTHER writes one without, and name that
    none.csv: No such file or directory (os error 2); fix: name a file that can be read
    ");
}

#[test]
fn a_password_is_in_no_message() {
    let text = format!("{:?}", credentials("lab-secret", Padding::Oaep));
    assert!(
        text.contains("wire") && !text.contains("lab-secret"),
        "{text}"
    );
}
