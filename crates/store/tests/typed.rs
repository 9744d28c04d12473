//! Whatever is typed as a selection, a date or a store is taken or refused, and a password is never shown.

use proptest::prelude::*;
use wirelab_store::{Location, Selection, without_password};

proptest! {
    #[test]
    fn any_selection_is_taken_or_refused_with_a_fix(text in "\\PC{0,40}|(node|tag|since|until|last)=\\PC{0,20}|[0-9TZ:dwh-]{0,24}") {
        for selected in [text.parse::<Selection>(), Selection::default().since(&text), Selection::default().until(&text)] {
            if let Err(refused) = selected {
                prop_assert!(refused.is_usage() && refused.to_string().contains("fix: "), "{}", refused);
            }
        }
    }

    #[test]
    fn a_password_is_in_no_text(user in "[a-z]{1,8}", rest in "[a-z:@/?&=]{0,20}", password in "[A-Z]{6,12}[@:/?&=%]{0,3}[A-Z]{0,6}") {
        let address = format!("postgres://{user}:{password}@host/{rest}");
        let secret = &password[..6];
        let option = format!("--store={address}");
        let location = address.parse::<Location>().expect("an address");
        let texts = [without_password(&address), without_password(&option), format!("{location:?}"), location.to_string()];
        for text in texts {
            prop_assert!(!text.contains(secret), "{}", text);
        }
    }
}
