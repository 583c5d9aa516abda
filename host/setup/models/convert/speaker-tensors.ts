import { formatError } from './formats/format-error.ts';
import type { TorchWeights } from './formats/torch-checkpoint.ts';

/** Returns the numbers of a tensor. An undefined length of `shape` fits every length. */
export type GetTensor = (name: string, ...shape: readonly (number | undefined)[]) => Float32Array;

/** Returns a function that gets tensors of a checkpoint, and throws `ModelFormatError` for a missing or foreign one. */
export function tensorGetter(weights: TorchWeights, label: string, model: string): GetTensor {
  return (name, ...shape) => {
    const tensor = weights.get(name);
    if (!tensor) throw formatError(label, `it is not ${model}: ${name} is missing`);
    const fits =
      tensor.shape.length === shape.length &&
      shape.every((length, axis) => length === undefined || length === tensor.shape[axis]);
    if (!fits)
      throw formatError(
        label,
        `it is not ${model}: ${name} has the shape ${tensor.shape.join(' × ')} instead of ${shape.join(' × ')}`,
      );
    return tensor.data;
  };
}
