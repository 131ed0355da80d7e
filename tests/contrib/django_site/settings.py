"""Settings of a small site."""

import os

SECRET_KEY = "for tests only"
USE_TZ = True
TIME_ZONE = "UTC"
LOGGING_CONFIG = None
ROOT_URLCONF = "tests.contrib.django_site.urls"
ALLOWED_HOSTS = ["*"]
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "drumline.contrib.django",
    "tests.contrib.django_site",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
DATABASES = {
    "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.environ["SITE_DATABASE"]},
    "store": {"ENGINE": "django.db.backends.sqlite3", "NAME": f"{os.environ['SITE_DATA']}/drumline.db"},
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
TASKS = {
    "default": {
        "BACKEND": "drumline.contrib.django.backend.DrumlineBackend",
        "QUEUES": ["default", "mail"],
        "OPTIONS": {"data": os.environ["SITE_DATA"], "interface": "https://drumline.example/ui/"},
    },
    "same": {
        "BACKEND": "drumline.contrib.django.backend.DrumlineBackend",
        "OPTIONS": {"data": os.environ["SITE_DATA"], "transaction": "same", "database": "store"},
    },
}
