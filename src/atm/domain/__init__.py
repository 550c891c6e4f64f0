"""The rules. Pure: no disk, clock, environment, randomness, asyncio or JSON. Time is an argument."""
