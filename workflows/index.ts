// Every workflow function that a worker offers.
export { deliveryLane } from './deliveryLane.ts'
export { runExecution } from './runExecution.ts'
export { verifyDomain } from './verifyDomain.ts'
