"""The model without a table, so that Django creates its permission."""

from django.db import migrations, models


class Migration(migrations.Migration):  # type: ignore[misc]  # Django has no types
    """Declare the model."""

    initial = True
    dependencies: list[tuple[str, str]] = []  # noqa: RUF012 - as Django writes migrations
    operations = [  # noqa: RUF012
        migrations.CreateModel(
            name="Interface",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"))
            ],
            options={
                "managed": False,
                "default_permissions": ("view",),
                "verbose_name": "interface",
                "verbose_name_plural": "interface",
            },
        )
    ]
