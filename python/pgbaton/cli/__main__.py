"""python -m pgbaton.cli"""

from pgbaton.cli import app

app()
