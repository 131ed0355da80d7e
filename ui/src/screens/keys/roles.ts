import type { Role } from "@/api/types";
import { texts } from "@/texts";

/** What a key of each role may do. */
export const ROLES: Record<Role, string> = {
  viewer: texts.keys.readEverything,
  submitter: texts.keys.submitAndReadTasks,
  worker: texts.keys.runTasks,
  operator: texts.keys.operateCancelRetryPauseDrain,
  admin: texts.keys.fullAccess,
};
