"""How fast environments can be stepped, in how many ways: CartPole, and this repository's scheduling environment."""
