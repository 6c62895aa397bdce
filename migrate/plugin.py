"""What a rule of another package is written with: ``from nki_migrate.plugin import Left``. See docs/plugins.md."""

from nki_migrate.codemods.driver.plugins import Left, PluginSource
from nki_migrate.codemods.syntax.drafts import Edit

__all__ = ["Edit", "Left", "PluginSource"]
