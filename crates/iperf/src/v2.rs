//! iperf 2: its header generations, reports and table.
