"""The agent CLIs beside Claude Code, set up so that they ask nobody but the model server and do not retry for long."""

from ends import Cli

GEMINI = Cli(
    "gemini",
    "gemini-2.5-pro",
    {
        ".gemini/settings.json": {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "general": {"maxAttempts": 1, "enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "privacy": {"usageStatisticsEnabled": False},
        }
    },
    lambda url: {
        "GEMINI_API_KEY": "dummy",
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "HTTP_PROXY": "http://127.0.0.1:9",
        "HTTPS_PROXY": "http://127.0.0.1:9",
    },
)
QWEN = Cli(
    "qwen",
    "qwen3-coder",
    {
        ".qwen/settings.json": {
            "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "memory": {"enableManagedAutoMemory": False},
            "model": {"generationConfig": {"maxRetries": 0}},
        }
    },
    # no proxy that leads nowhere: the CLI would ask it for the loopback server too
    lambda url: {"OPENAI_API_KEY": "dummy", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": "qwen3-coder"},
)
