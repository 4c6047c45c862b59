"""The arena's server: pages for raters and organisers, rendered here, plain forms, no third-party request."""
