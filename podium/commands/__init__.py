"""The commands, a file for each subject. Every file has `add_verbs`, which tells the command line what it offers."""
