// Counts what became of renders, and how often the process that renders templates ended. API and worker have it.
import { Counter, type Registry } from 'prom-client'

/** Registers the metrics. A registry takes them once. @returns what a renderer tells of its work */
export function createRenderMetrics(registry: Registry) {
  const registers = [registry]
  const renders = new Counter({
    name: 'dripline_renders_total',
    help: 'API and worker: renders of templates, by outcome. in_place: cheap ones; done: by the child process, with a text or a fault of the template; remembered: failed before, answered at once; too_slow, out_of_memory, failed, ended, too_large: given up; busy, and starved of the processor: 503, or a segment that comes again',
    labelNames: ['outcome'],
    registers,
  })
  const ends = new Counter({
    name: 'dripline_render_child_ends_total',
    help: 'API and worker: times that the process that renders templates has ended by itself',
    registers,
  })
  return {
    rendered: (outcome: string) => renders.inc({ outcome }),
    childEnded: () => ends.inc(),
  }
}
