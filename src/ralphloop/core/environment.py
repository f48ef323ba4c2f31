"""Which variables an agent is handed: by name and pattern, never by what they hold."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

KEPT = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "LANGUAGE", "TZ", "TERM", "COLORTERM", "NO_COLOR",
    "FORCE_COLOR", "EDITOR", "VISUAL", "PAGER", "TMPDIR", "TEMP", "TMP", "XDG_*", "DISPLAY", "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "DBUS_SESSION_BUS_ADDRESS", "SSH_AUTH_SOCK", "GIT_AUTHOR_*", "GIT_COMMITTER_*", "GIT_CONFIG_*", "GIT_SSH",
    "GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy",
    "NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy", "SSL_CERT_*", "NIX_SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT", "*_HOME", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV",
    "CONDA_EXE", "PYENV_*", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PIP_CONFIG_FILE",
    "PIP_CACHE_DIR", "UV_CACHE_DIR", "UV_PYTHON*", "NVM_*", "FNM_*", "VOLTA_*", "NODE_PATH", "NODE_OPTIONS",
    "NODE_ENV", "NPM_CONFIG_PREFIX", "NPM_CONFIG_CACHE", "BUN_INSTALL", "DENO_DIR", "ASDF_DIR", "ASDF_DATA_DIR",
    "CARGO_TARGET_DIR", "RUSTUP_TOOLCHAIN", "RUSTFLAGS", "RUST_BACKTRACE", "GOPATH", "GOROOT", "GOBIN", "GOCACHE",
    "GOMODCACHE", "GOFLAGS", "GOTOOLCHAIN", "GOPROXY", "CGO_ENABLED", "MAVEN_OPTS", "GRADLE_OPTS", "ANDROID_SDK_ROOT",
    "ANDROID_NDK_ROOT", "RBENV_*", "GEM_PATH", "BUNDLE_PATH", "DOTNET_ROOT", "SDKMAN_DIR", "NIX_PATH",
    "NIX_PROFILES", "IN_NIX_SHELL", "HOMEBREW_PREFIX", "HOMEBREW_CELLAR", "HOMEBREW_REPOSITORY", "DOCKER_HOST",
    "DOCKER_CONTEXT", "DOCKER_CONFIG", "CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "MAKEFLAGS",
    "PKG_CONFIG_PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PLAYWRIGHT_BROWSERS_PATH", "CHROME_BIN",
    "DEBIAN_FRONTEND", "CI", "WSL_*", "WSLENV", "GNUPGHOME",
    "GPG_TTY", "SDKROOT", "DEVELOPER_DIR", "CPATH", "LIBRARY_PATH", "CMAKE_PREFIX_PATH", "PERL5LIB", "RUBYLIB",
    "CUDA_VISIBLE_DEVICES", "COMPOSE_FILE", "COMPOSE_PROJECT_NAME",
)  # fmt: skip

# how programs find their model and its account; whose they are, nobody knows of an agent of the user's own
OF_MODELS = (
    "ANTHROPIC_*", "CLAUDE_*", "OPENAI_*", "AZURE_OPENAI_*", "CODEX_*", "GEMINI_*", "GOOGLE_API_KEY", "GOOGLE_GEMINI_*",
    "GOOGLE_GENAI_*", "OPENROUTER_*", "MISTRAL_*", "GROQ_*", "DEEPSEEK_*", "XAI_*", "OLLAMA_*", "IS_SANDBOX",
)  # fmt: skip

# by these an agent would take itself for a part of the session that ralph was started from
OF_A_SESSION = (
    "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SESSION_ID", "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID", "GEMINI_CLI", "QWEN_CODE", "CURSOR_AGENT", "OPENCODE",
)  # fmt: skip


def granted(name: str, patterns: Iterable[str]) -> bool:
    """Whether a variable of this name is handed over."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def in_force(patterns: Iterable[str], present: Mapping[str, str]) -> tuple[str, ...]:
    """Of patterns such as `AWS_* with CLAUDE_CODE_USE_BEDROCK` those whose condition is set."""
    parted = (pattern.partition(" with ") for pattern in patterns)
    return tuple(pattern for pattern, _, condition in parted if not condition or present.get(condition))
