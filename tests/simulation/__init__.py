"""The whole system on a simulated loop: every process, the network between them, and faults, all from one seed."""
