/** What happens to a deployment when a configuration is applied. `apply` and the dashboard say it after its name. */
export const WAYS = {
  start: 'is started',
  'in-place': 'is changed in place',
  rolling: 'is replaced, replica by replica',
  stop: 'finishes its calls and ends',
} as const;
