"""The judge held to the clinicians' votes: agreement, biases, and estimates that use both."""
