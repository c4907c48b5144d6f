"""${message}.

Before this runs on a database that serves readers: does it rewrite a table, hold a lock for long, or remove
something that the version still running reads? If so, split it. On SQLite change tables in batch mode.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
${imports if imports else ""}
revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None


def upgrade() -> None:
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    ${downgrades if downgrades else "pass"}
