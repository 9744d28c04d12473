//! iperf3: its control connection, its data, its JSON.
