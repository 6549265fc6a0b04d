// What the interpreter throws.

/** A segment entered a node twice, so no time passes in a loop of the design. */
export class LoopWithoutTime extends Error {
  constructor(nodeId: string) {
    super(`loop_without_time: ${nodeId} was entered twice without a wait between`)
  }
}

/** The design has a kind of node that only a newer release knows: its workers must run the segment. */
export class UnknownKind extends Error {
  constructor(type: string) {
    super(`this release knows no ${type} node`)
  }
}
