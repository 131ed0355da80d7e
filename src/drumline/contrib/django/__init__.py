"""Drumline as a backend of Django's Tasks framework.

    INSTALLED_APPS = [..., "drumline.contrib.django"]
    TASKS = {"default": {"BACKEND": "drumline.contrib.django.backend.DrumlineBackend"}}

`manage.py drumline_worker` runs a worker. With Django 6 the framework is `django.tasks`; before that it is the
package `django-tasks`.
"""
