/** What went wrong with a request, in the server's words or ours. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly field: string | null = null,
    readonly requestId: string | null = null,
    /** What is wrong with each field, where several are; `field` and the message are then the first of them. */
    readonly faults: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    this.name = "Problem";
  }

  /** Whether asking again later may help. */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }

  /** Whether the server does not have this operation: it is of an older version than this page. */
  get isOfOlderServer(): boolean {
    return this.code === "unknown_path";
  }
}

/** A problem with several fields at once, found before anything was sent. */
export function invalid(faults: Readonly<Record<string, string>>): Problem {
  const [[field, message] = ["", "is not valid"]] = Object.entries(faults);
  return new Problem(0, "invalid", message, field, null, faults);
}

/** Whether a problem is that the server did not answer, and not what it answered. */
export function isUnreachable(error: unknown): boolean {
  return error instanceof Problem && error.code === "unreachable";
}

export async function problemOf(response: Response): Promise<Problem> {
  const requestId = response.headers.get("x-request-id");
  try {
    const body = (await response.json()) as { code?: string; detail?: string; title?: string; field?: string | null };
    const text = body.detail ?? body.title ?? response.statusText;
    return new Problem(response.status, body.code ?? "unknown", text, body.field ?? null, requestId);
  } catch {
    return new Problem(response.status, "unknown", response.statusText || `HTTP ${response.status}`, null, requestId);
  }
}
