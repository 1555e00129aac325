export class FitAddon {
  fit(): void;
}
