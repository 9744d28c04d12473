//! How long a client waits for a node that does not answer yet, over a simulated network.

use crate::common::{Simulated, Weather, World, host, transmit};
use wirelab_control::client::Patience;
use wirelab_control::{Client, ClientError};

#[test]
fn a_node_that_prepares_for_long_is_waited_for_as_long_as_it_is_there_and_starts_once() {
    let world = World::new(Weather::default(), 5);
    let mut client =
        Client::open_with(Simulated::join(&world, host(1)), Patience::default(), 9).unwrap();
    // Nothing arrives until the third check whether the node is there.
    world.borrow_mut().weather.loss = 100;
    let mut asked = Vec::new();
    let started = client.start_while(transmit(1), |rounds| {
        asked.push(rounds);
        world.borrow_mut().weather.loss = if rounds < 3 { 100 } else { 0 };
        true
    });
    assert_eq!(started.unwrap().trial, 1);
    assert_eq!(asked, [1, 2, 3]);
    assert_eq!(world.borrow_mut().server.handler().starts, 1);
    // One that is gone is given up, with all the tries that it was given.
    world.borrow_mut().weather.loss = 100;
    let gone = client.start_while(transmit(1), |rounds| rounds < 2);
    assert!(
        matches!(
            gone,
            Err(ClientError::Silent {
                command: "start",
                tries: 16
            })
        ),
        "{gone:?}"
    );
}
