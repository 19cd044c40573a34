"""Speed of environments that are stepped in many ways: CartPole, and this repository's scheduling environment."""
