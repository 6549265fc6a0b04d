// The number of the interpreter's semantics.

/**
 * What the interpreter of this release knows, and what new versions of workflows run under (`workflow_versions.engine`). It rises
 * with each change that a worker of the release before would carry out otherwise; what lower numbers mean stays as it was
 * until no execution runs under them. 1: designs from before waits had rows of their own. 2: goals, exit conditions and the
 * longest duration end waits, and a paused workflow may hold its executions. 3: mail to the team and copies for it; conditions ask
 * about segments.
 */
export const ENGINE = 3

/** The version was activated under semantics that only a newer release knows: its workers must run the segment. */
export class NewerEngine extends Error {
  constructor(engine: number) {
    super(`this release knows the semantics up to ${ENGINE}, and the version runs under ${engine}`)
  }
}
