"""Object stores, the circuits around them and the gate in front of them."""
