"""What every chapter shares: parameters, tables, places, checksums, provenance, claims, statistics, the page kit."""
