"""The parts that are the same for every store."""

from drumline.core.clock import Clock
from drumline.stores.driver import Database, Lanes
from drumline.stores.parts.alerts import Alerts
from drumline.stores.parts.audit import AuditLog
from drumline.stores.parts.bulk import Bulks
from drumline.stores.parts.control import Control
from drumline.stores.parts.dead_letters import DeadLetters
from drumline.stores.parts.deliveries import Deliveries
from drumline.stores.parts.expiry import Expiry
from drumline.stores.parts.following import JobFollowing
from drumline.stores.parts.jobs import Jobs
from drumline.stores.parts.keys import Keys
from drumline.stores.parts.limits import FlowLimitStore
from drumline.stores.parts.outputs import Outputs
from drumline.stores.parts.runtime_config import RuntimeConfigs
from drumline.stores.parts.saved_views import SavedViews
from drumline.stores.parts.schedules import Schedules
from drumline.stores.parts.secrets import Secrets
from drumline.stores.parts.sign_ins import SignIns
from drumline.stores.parts.slos import Slos
from drumline.stores.parts.subscriptions import Subscriptions
from drumline.stores.parts.task_types import TaskTypes
from drumline.stores.parts.tasks import TaskQueries
from drumline.stores.parts.tenants import Tenants
from drumline.stores.parts.triage import Triages
from drumline.stores.parts.waits import Waits


class SharedParts:
    """Builds each part with the database, the clock and the lanes of the store, and with the parts that it needs."""

    def __init__(
        self, database: Database, clock: Clock | None, lanes: Lanes, *, following: JobFollowing, jobs: Jobs
    ) -> None:
        self.alerts = Alerts(database, clock, lanes)
        self.audit = AuditLog(database, clock, lanes)
        self.config = RuntimeConfigs(database, clock, lanes)
        self.control = Control(database, clock, lanes, following, jobs)
        self.dead_letters = DeadLetters(database, clock, lanes, self.control)
        self.bulks = Bulks(database, clock, lanes, self.dead_letters, self.control)
        self.deliveries = Deliveries(database, clock, lanes)
        self.expiry = Expiry(database, clock, lanes)
        self.keys = Keys(database, clock, lanes)
        self.limits = FlowLimitStore(database, clock, lanes)
        self.outputs = Outputs(database, clock, lanes)
        self.queries = TaskQueries(database, clock, lanes)
        self.schedules = Schedules(database, clock, lanes)
        self.secrets = Secrets(database, clock, lanes)
        self.sign_ins = SignIns(database, clock, lanes)
        self.slos = Slos(database, clock, lanes)
        self.subscriptions = Subscriptions(database, clock, lanes)
        self.task_types = TaskTypes(database, clock, lanes)
        self.tenants = Tenants(database, clock, lanes)
        self.triages = Triages(database, clock, lanes)
        self.saved_views = SavedViews(database, clock, lanes)
        self.waits = Waits(database, clock, lanes, following)
