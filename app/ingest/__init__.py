"""From a provider's page to published offers: fetch, archive, parse, check, publish or hold."""
