"""Each vendor's protocol, over the pipes of a process that a host has started: `ports.crew.drivers.Driver`."""
